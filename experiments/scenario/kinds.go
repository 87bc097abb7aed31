package scenario

import (
	"reflect"

	"go.yaml.in/yaml/v3"
)

// kinds are the configurations among which the field kind of a mapping chooses, by name.
type kinds []struct {
	name   string
	config any
}

func (k kinds) names() []string {
	names := make([]string, len(k))
	for i := range k {
		names[i] = k[i].name
	}
	return names
}

// chosen is the configuration of the kind that a mapping has chosen. Its fields follow those of the
// mapping's own struct, which embeds it.
type chosen struct{ config any } // a pointer; nil: nothing is chosen

// chooseFrom begins with a copy of the configuration that the mapping names.
func (c *chosen) chooseFrom(k kinds, d *decoder, mapping *yaml.Node, field string) bool {
	kind := text(mapping, "kind")
	for i := range k {
		if k[i].name == kind {
			config := reflect.New(reflect.TypeOf(k[i].config))
			config.Elem().Set(reflect.ValueOf(k[i].config))
			c.config = config.Interface()
			return true
		}
	}
	d.unknownKind(mapping, field, "kind", k.names())
	return false
}

func (c *chosen) parts() []any {
	if c.config == nil {
		return nil
	}
	return []any{c.config}
}

// unknownKind refuses the word by which a mapping says what kind it is.
func (d *decoder) unknownKind(mapping *yaml.Node, field, name string, names []string) {
	if _, value := entry(mapping, name); value != nil {
		d.unknownWord(value, join(field, name), names)
		return
	}
	d.fail(mapping, Error{Field: join(field, name), Got: "nothing", Want: oneOf(names)})
}
