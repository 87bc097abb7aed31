package scenario

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/braid-rdma/braid/sim"
	"github.com/braid-rdma/braid/sim/workload"
	"github.com/braid-rdma/braid/transport"
)

// Names is a list of names; a single one may stand without brackets.
type Names []string

// enumerations are the types of other packages of which a scenario writes the
// names instead of the numbers.
var enumerations = map[reflect.Type][]string{
	reflect.TypeFor[workload.Senders]():   {workload.EveryHost: "every-host", workload.FirstHalf: "first-half", workload.RandomHalf: "random-half"},
	reflect.TypeFor[sim.Direction]():      {sim.Both: "both", sim.Forth: "forth", sim.Back: "back"},
	reflect.TypeFor[sim.Operation]():      {sim.ByWrite: "write", sim.BySend: "send", sim.ByRead: "read"},
	reflect.TypeFor[transport.Recovery](): {transport.GoBackN: "go-back-n", transport.GoBackZero: "go-back-0"},
}

var distributionType = reflect.TypeFor[*workload.Distribution]()

// isScalar says whether values of a type are single words.
func isScalar(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Struct, reflect.Slice, reflect.Array, reflect.Map:
		return false
	case reflect.Pointer:
		return t == distributionType
	}
	return true
}

// scalar decodes a single word.
func (d *decoder) scalar(n *yaml.Node, field string, v reflect.Value, as form) {
	want := wanted(v.Type(), as)
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		d.fail(n, Error{Field: field, Got: describe(n), Want: want})
		return
	}
	if enum, ok := enumerations[v.Type()]; ok {
		d.enumerated(n, field, v, enum)
		return
	}
	ok := false
	switch {
	case v.Type() == distributionType:
		d.distribution(n, field, v)
		return
	case v.Kind() == reflect.String:
		v.SetString(n.Value)
		if as.words != nil && !slices.Contains(as.words(), n.Value) {
			d.unknownWord(n, field, as.words())
		}
		return
	case v.Kind() == reflect.Bool:
		ok = n.Tag == "!!bool"
		v.SetBool(n.Value == "true" || n.Value == "True" || n.Value == "TRUE")
	case v.CanFloat():
		ok = setFloat(v, n.Value)
	default:
		ok = setInteger(v, n.Value, as.unit)
	}
	if !ok {
		d.fail(n, Error{Field: field, Got: describe(n), Want: want})
	}
}

func setFloat(v reflect.Value, text string) bool {
	number, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(number) || math.IsInf(number, 0) {
		return false
	}
	v.SetFloat(number)
	return true
}

// setInteger reads a number that is not negative, in its unit.
func setInteger(v reflect.Value, text string, u unit) bool {
	var number int64
	ok := true
	switch {
	case u == unitHost && text == "any":
		number = workload.AnyHost
	case u == unitPlain || u == unitHost:
		if v.Kind() == reflect.Uint64 {
			whole, err := strconv.ParseUint(text, 0, 64)
			v.SetUint(whole)
			return err == nil
		}
		whole, err := strconv.ParseInt(text, 10, 64)
		number, ok = whole, err == nil && whole >= 0
	default:
		number, ok = notations[u].parse(text)
	}
	switch {
	case !ok:
		return false
	case v.CanUint():
		if number < 0 || v.OverflowUint(uint64(number)) {
			return false
		}
		v.SetUint(uint64(number))
	case v.OverflowInt(number):
		return false
	default:
		v.SetInt(number)
	}
	return true
}

// enumerated decodes the name of a value.
func (d *decoder) enumerated(n *yaml.Node, field string, v reflect.Value, names []string) {
	value := slices.Index(names, n.Value)
	if value < 0 {
		d.unknownWord(n, field, names)
		return
	}
	v.Set(reflect.ValueOf(value).Convert(v.Type()))
}

// unknownWord refuses a word that is none of several.
func (d *decoder) unknownWord(n *yaml.Node, field string, names []string) {
	d.fail(n, Error{Field: field, Got: describe(n), Want: oneOf(names), Suggestion: similar(n.Value, names)})
}

func oneOf(names []string) string { return "one of " + strings.Join(names, ", ") }

// distribution reads flow sizes: a published name or points.
func (d *decoder) distribution(n *yaml.Node, field string, v reflect.Value) {
	text := n.Value
	if !strings.Contains(text, ":") {
		text = strings.ReplaceAll(text, "-", " ")
	}
	sizes, err := workload.ParseDistribution(text)
	if err == nil {
		v.Set(reflect.ValueOf(sizes))
		return
	}
	e := Error{Field: field, Got: describe(n), Want: err.Error()}
	var wrong *workload.DistributionError
	if errors.As(err, &wrong) {
		e.Got, e.Want = wrong.Got, wrong.Want
		e.Suggestion = similar(text, workload.DistributionNames())
	}
	d.fail(n, e)
}

// wanted says what a field of a type holds.
func wanted(t reflect.Type, as form) string {
	if as.words != nil {
		return oneOf(as.words())
	}
	if enum, ok := enumerations[t]; ok {
		return oneOf(enum)
	}
	if n, ok := notations[as.unit]; ok {
		return n.want
	}
	switch {
	case as.unit == unitHost:
		return `a host number, or "any"`
	case t == distributionType:
		return "bytes:percent points, or " + oneOf(workload.DistributionNames())
	case t.Kind() == reflect.String:
		return "a word"
	case t.Kind() == reflect.Bool:
		return "true or false"
	case t.Kind() == reflect.Float64:
		return "a number"
	}
	return "a whole number, not negative"
}
