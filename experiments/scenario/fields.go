package scenario

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/braid-rdma/braid/sim/workload"
)

// A Field is something that Set can change.
type Field struct {
	Name  string // such as "transports.mp.delta"
	Want  string // what it holds, such as "a time such as 500ns, 2us, 10ms or 1s"
	Value string // what it holds now; empty: nothing
}

// Fields lists what Set can change: every field of the scenario, with those that
// the file does not mention, and the fields of all that the file names.
func (s *Scenario) Fields() []Field {
	var fields []Field
	listFields(reflect.ValueOf(s).Elem(), "", &fields)
	return fields
}

func listFields(v reflect.Value, prefix string, fields *[]Field) {
	for _, f := range fieldsOf(v) {
		name := join(prefix, f.name)
		if s, ok := f.value.Addr().Interface().(shorthand); ok {
			*fields = append(*fields, Field{name, s.words(), s.word()})
		}
		listField(f.value, name, f.form, fields)
	}
}

func listField(v reflect.Value, name string, as form, fields *[]Field) {
	switch {
	case isScalar(v.Type()):
		*fields = append(*fields, Field{name, wanted(v.Type(), as), valueText(v, as.unit)})
	case v.Kind() == reflect.Pointer && isScalar(v.Type().Elem()):
		f := Field{name, wanted(v.Type().Elem(), as), ""}
		if !v.IsNil() {
			f.Value = valueText(v.Elem(), as.unit)
		}
		*fields = append(*fields, f)
	case v.Kind() == reflect.Pointer:
		if !v.IsNil() {
			listFields(v.Elem(), name, fields)
		}
	case v.Kind() == reflect.Struct:
		listFields(v, name, fields)
	case v.Kind() == reflect.Map:
		for _, key := range slices.SortedFunc(slices.Values(v.MapKeys()), func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) }) {
			listField(v.MapIndex(key), join(name, key.String()), form{}, fields)
		}
	case isScalar(v.Type().Elem()):
		*fields = append(*fields, Field{name, "a list; each " + wanted(v.Type().Elem(), as), listText(v, as.unit)})
	case v.Type().Elem() == pairType || v.Type().Elem().Kind() == reflect.Array:
		*fields = append(*fields, Field{name, "a list; each two numbers such as [0, 5]", listText(v, as.unit)})
	default:
		for i := range v.Len() {
			listField(v.Index(i), fmt.Sprintf("%s[%d]", name, i), form{}, fields)
		}
	}
}

// listText writes a list of words.
func listText(v reflect.Value, u unit) string {
	if v.Len() == 0 {
		return ""
	}
	items := make([]string, v.Len())
	for i := range items {
		switch element := v.Index(i); {
		case isScalar(element.Type()):
			items[i] = valueText(element, u)
		case element.Type() == pairType:
			pair := element.Interface().(workload.Pair)
			items[i] = fmt.Sprintf("[%d, %d]", pair.Src, pair.Dst)
		default:
			items[i] = listText(element, u)
		}
	}
	return "[" + strings.Join(items, ", ") + "]"
}

// valueText writes a word as a scenario has it.
func valueText(v reflect.Value, u unit) string {
	if enum, ok := enumerations[v.Type()]; ok {
		return enum[v.Convert(reflect.TypeFor[int]()).Int()]
	}
	if d, ok := v.Interface().(*workload.Distribution); ok {
		if d == nil {
			return ""
		}
		return d.String()
	}
	n, hasUnit := notations[u]
	switch {
	case u == unitHost && v.Int() == workload.AnyHost:
		return "any"
	case hasUnit:
		return n.format(v.Int())
	case v.CanFloat():
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	}
	return fmt.Sprint(v.Interface())
}
