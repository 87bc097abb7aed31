package scenario

import (
	"reflect"
	"strings"

	"github.com/braid-rdma/braid/sim"
	"github.com/braid-rdma/braid/sim/workload"
	"github.com/braid-rdma/braid/transport"
)

// A structField is a field of a struct as a scenario has it.
type structField struct {
	name   string
	value  reflect.Value
	form   form
	of     reflect.Type // the struct that declares it, under the Go name
	goName string
}

// A form is how a field is written: in what unit, or as which words.
type form struct {
	unit  unit
	words func() []string // nil: any
}

// vocabularies are the words that fields with the tag oneof take, by the tag.
var vocabularies = map[string]func() []string{
	"topology":  TopologyKinds,
	"workload":  WorkloadKinds,
	"transport": func() []string { return []string{kindMP, kindRC} },
	"preset":    func() []string { return sortedKeys(presets) },
	"policy":    transport.PathPolicies.Names,
	"control":   transport.CongestionControls.Names,
	"rate":      transport.RateControls.Names,
	"node":      func() []string { return []string{nodeHost, nodeSwitch} },
}

// fieldsOf lists the fields of a struct in the order of declaration: its own,
// those of embedded structs in their place, and last those of its parts.
func fieldsOf(v reflect.Value) []structField {
	var fields []structField
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name := f.Tag.Get("yaml")
		switch {
		case !f.IsExported() || name == "-":
		case f.Anonymous && name == "":
			fields = append(fields, fieldsOf(v.Field(i))...)
		default:
			if name == "" {
				name = kebab(f.Name)
			}
			fields = append(fields, structField{name, v.Field(i), form{unitOf(f), vocabularies[f.Tag.Get("oneof")]}, v.Type(), f.Name})
		}
	}
	if p, ok := v.Addr().Interface().(parted); ok {
		for _, part := range p.parts() {
			fields = append(fields, fieldsOf(reflect.ValueOf(part).Elem())...)
		}
	}
	return fields
}

// durations are the fields of builders and generators that are times; their type
// does not say so.
var durations = map[string]bool{
	"Start": true, "Jitter": true, "Duration": true, "Compute": true, "Reduce": true,
	"HostDelay": true, "FabricDelay": true, "CoreDelay": true, "PathDelay": true, "Delay": true, "Delays": true,
}

var (
	timeType  = reflect.TypeFor[sim.Time]()
	bytesType = reflect.TypeFor[Bytes]()
	rateType  = reflect.TypeFor[Rate]()
	namesType = reflect.TypeFor[Names]()
	pairType  = reflect.TypeFor[workload.Pair]()
)

// unitOf says how the numbers of a field are written: by its type or, for the
// plain numbers of other packages, by its name.
func unitOf(f reflect.StructField) unit {
	t := f.Type
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	switch {
	case t == timeType:
		return unitTime
	case t == bytesType:
		return unitSize
	case t == rateType:
		return unitRate
	case t.Kind() == reflect.Int && f.Name == "Receiver":
		return unitHost
	case t.Kind() == reflect.Int && f.Name == "Message":
		return unitSize
	case t.Kind() != reflect.Int64:
		return unitPlain
	case durations[f.Name]:
		return unitTime
	case strings.HasSuffix(f.Name, "Rate") || f.Name == "Rates":
		return unitRate
	case strings.HasSuffix(f.Name, "Bytes"):
		return unitSize
	}
	return unitPlain
}
