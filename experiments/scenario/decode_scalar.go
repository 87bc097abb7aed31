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

// words is an enumeration: its values by name, in order.
type words []struct {
	name  string
	value int64
}

func (w words) names() []string {
	names := make([]string, len(w))
	for i := range w {
		names[i] = w[i].name
	}
	return names
}

func (w words) nameOf(value int64) string {
	for _, word := range w {
		if word.value == value {
			return word.name
		}
	}
	return strconv.FormatInt(value, 10)
}

// enumerations are the types of other packages of which a scenario writes the
// names instead of the numbers.
var enumerations = map[reflect.Type]words{
	reflect.TypeFor[workload.Senders](): {
		{"every-host", int64(workload.EveryHost)},
		{"first-half", int64(workload.FirstHalf)},
		{"random-half", int64(workload.RandomHalf)},
	},
	reflect.TypeFor[sim.Direction](): {
		{"both", int64(sim.Both)}, {"forth", int64(sim.Forth)}, {"back", int64(sim.Back)},
	},
	reflect.TypeFor[sim.Operation](): {
		{"write", int64(sim.ByWrite)}, {"send", int64(sim.BySend)}, {"read", int64(sim.ByRead)},
	},
	reflect.TypeFor[transport.Recovery](): {
		{"go-back-n", int64(transport.GoBackN)}, {"go-back-0", int64(transport.GoBackZero)},
	},
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
			d.oneOf(n, field, as.words())
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

func (d *decoder) enumerated(n *yaml.Node, field string, v reflect.Value, enum words) {
	for _, word := range enum {
		if word.name == n.Value {
			if v.CanUint() {
				v.SetUint(uint64(word.value))
			} else {
				v.SetInt(word.value)
			}
			return
		}
	}
	d.oneOf(n, field, enum.names())
}

// oneOf refuses a word that is none of several.
func (d *decoder) oneOf(n *yaml.Node, field string, names []string) {
	got := "nothing"
	word := ""
	if n != nil {
		got, word = describe(n), n.Value
	}
	d.fail(n, Error{Field: field, Got: got, Want: "one of " + strings.Join(names, ", "), Suggestion: similar(word, names)})
}

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
		return "one of " + list(as.words())
	}
	if enum, ok := enumerations[t]; ok {
		return "one of " + strings.Join(enum.names(), ", ")
	}
	if n, ok := notations[as.unit]; ok {
		return n.want
	}
	switch {
	case as.unit == unitHost:
		return `a host number, or "any"`
	case t == distributionType:
		return "bytes:percent points, or one of " + strings.Join(workload.DistributionNames(), ", ")
	case t.Kind() == reflect.String:
		return "a word"
	case t.Kind() == reflect.Bool:
		return "true or false"
	case t.Kind() == reflect.Float64:
		return "a number"
	}
	return "a whole number, not negative"
}
