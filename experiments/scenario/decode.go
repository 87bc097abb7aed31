package scenario

import (
	"fmt"
	"reflect"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/braid-rdma/braid/sim/workload"
)

// A decoder fills Go values from the nodes of a YAML document. It goes by the
// types, so that every field of a builder or generator is a field of the
// scenario; it goes on after an error, so that all are found at once; and it
// remembers where each field stands, for what later checks have to say.
//
// The library's own strict decoding (KnownFields) gives the line of an unknown field but
// neither its column nor what there is instead, and cannot know fields that depend on a kind.
type decoder struct {
	file   string
	errors Errors
	places map[string]*yaml.Node // by field
}

// A chooser is a struct whose further fields, or their defaults, depend on some
// of its own: the kind of a topology, the preset of a transport.
type chooser interface {
	// choose looks at the mapping before its fields are decoded and returns
	// whether that can go on.
	choose(d *decoder, mapping *yaml.Node, field string) bool
}

// parted is a struct that has further fields: those of the structs to which parts
// points.
type parted interface{ parts() []any }

// shorthand is a struct that a single word can stand for, such as "none".
type shorthand interface {
	// read takes the word and reports whether it is one.
	read(word string) bool
	// word is what stands for the struct as it is; empty: none.
	word() string
	// words says what there is to write.
	words() string
}

// elementMaker is a struct with a map whose elements do not begin as zero.
type elementMaker interface{ newElement() any }

func (d *decoder) fail(n *yaml.Node, e Error) {
	e.File = d.file
	if n != nil {
		e.Line, e.Column = n.Line, n.Column
	}
	if e.Line == 0 {
		e.File = "override"
	}
	d.errors = append(d.errors, &e)
}

// describe says what a node holds, for errors.
func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	if n.Tag == "!!null" {
		return "nothing"
	}
	return strconv.Quote(n.Value)
}

// resolved is a node, or what it is an alias of.
func resolved(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// value decodes a node into a Go value.
func (d *decoder) value(n *yaml.Node, field string, v reflect.Value, as form) {
	n = resolved(n)
	d.places[field] = n
	if v.Kind() == reflect.Pointer && v.Type() != distributionType {
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		d.value(n, field, v.Elem(), as)
		return
	}
	if isScalar(v.Type()) {
		d.scalar(n, field, v, as)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		d.structure(n, field, v)
	case reflect.Slice:
		d.list(n, field, v, as)
	case reflect.Array:
		d.array(n, field, v)
	default:
		panic(fmt.Sprintf("scenario: %s has a type that cannot be decoded: %v", field, v.Type()))
	}
}

func (d *decoder) list(n *yaml.Node, field string, v reflect.Value, as form) {
	if n.Kind == yaml.ScalarNode && v.Type() == namesType && n.Tag != "!!null" {
		v.Set(reflect.ValueOf(Names{n.Value})) // a single name needs no brackets
		return
	}
	if n.Kind != yaml.SequenceNode {
		d.fail(n, Error{Field: field, Got: describe(n), Want: "a list"})
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
	for i, element := range n.Content {
		d.value(element, fmt.Sprintf("%s[%d]", field, i), v.Index(i), as)
	}
}

// array decodes a list of known length.
func (d *decoder) array(n *yaml.Node, field string, v reflect.Value) {
	if n.Kind != yaml.SequenceNode || len(n.Content) != v.Len() {
		d.fail(n, Error{Field: field, Got: describe(n), Want: fmt.Sprintf("a list of %d", v.Len())})
		return
	}
	for i, element := range n.Content {
		d.value(element, fmt.Sprintf("%s[%d]", field, i), v.Index(i), form{})
	}
}

// pair decodes two hosts that are written as a list, from and to.
func (d *decoder) pair(n *yaml.Node, field string, v reflect.Value) {
	var ends [2]int
	d.array(n, field, reflect.ValueOf(&ends).Elem())
	v.Set(reflect.ValueOf(workload.Pair{Src: ends[0], Dst: ends[1]}))
	d.places[field+".src"], d.places[field+".dst"] = d.places[field+"[0]"], d.places[field+"[1]"]
}

func (d *decoder) structure(n *yaml.Node, field string, v reflect.Value) {
	target := v.Addr().Interface()
	if v.Type() == pairType && n.Kind == yaml.SequenceNode {
		d.pair(n, field, v)
		return
	}
	if s, ok := target.(shorthand); ok && n.Kind == yaml.ScalarNode {
		if !s.read(n.Value) {
			d.fail(n, Error{Field: field, Got: describe(n), Want: s.words()})
		}
		return
	}
	if n.Kind != yaml.MappingNode {
		d.fail(n, Error{Field: field, Got: describe(n), Want: "a mapping of fields"})
		return
	}
	if c, ok := target.(chooser); ok && !c.choose(d, n, field) {
		return
	}
	fields := fieldsOf(v)
	d.checkKeys(n, field, fields)
	// In the order of declaration: a later field may begin with what an earlier
	// one says.
	for _, f := range fields {
		if key, value := entry(n, f.name); key != nil {
			d.field(value, join(field, f.name), f, target)
		}
	}
}

func (d *decoder) field(n *yaml.Node, name string, f structField, parent any) {
	if f.value.Kind() != reflect.Map {
		d.value(n, name, f.value, f.form)
		return
	}
	n = resolved(n)
	d.places[name] = n
	if n.Kind != yaml.MappingNode {
		d.fail(n, Error{Field: name, Got: describe(n), Want: "a mapping by name"})
		return
	}
	d.checkKeys(n, name, nil)
	f.value.Set(reflect.MakeMap(f.value.Type()))
	for i := 0; i+1 < len(n.Content); i += 2 {
		element := reflect.New(f.value.Type().Elem().Elem())
		if m, ok := parent.(elementMaker); ok && reflect.TypeOf(m.newElement()) == element.Type() {
			element = reflect.ValueOf(m.newElement())
		}
		d.value(n.Content[i+1], join(name, n.Content[i].Value), element.Elem(), form{})
		f.value.SetMapIndex(reflect.ValueOf(n.Content[i].Value), element)
	}
}
