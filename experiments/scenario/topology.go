package scenario

import (
	"reflect"

	"go.yaml.in/yaml/v3"

	"github.com/braid-rdma/braid/sim/topology"
)

// Topology says what network there is: a preset, one of the builders, or a graph
// by its nodes and links. The builder's own fields follow in kebab-case; with a
// preset they change it.
type Topology struct {
	Kind string `oneof:"topology"`

	config any // points to the builder
}

// builders are the kinds that are no presets.
var builders = []struct {
	kind   string
	config topology.Builder
}{
	{"leaf-spine", topology.LeafSpine{}},
	{"fat-tree", topology.FatTree{}},
	{"parallel-paths", topology.ParallelPaths{}},
	{"mesh", topology.Mesh{}},
	{"graph", GraphConfig{}},
}

// TopologyKinds lists the kinds of topology: presets first.
func TopologyKinds() []string {
	var kinds []string
	for _, p := range topology.Presets() {
		kinds = append(kinds, p.Name)
	}
	for _, b := range builders {
		kinds = append(kinds, b.kind)
	}
	return kinds
}

func builderOf(kind string) (topology.Builder, bool) {
	for _, b := range builders {
		if b.kind == kind {
			return b.config, true
		}
	}
	return topology.Named(kind)
}

func (t *Topology) choose(d *decoder, mapping *yaml.Node, field string) bool {
	builder, ok := builderOf(text(mapping, "kind"))
	if !ok {
		d.chooseOneOf(mapping, join(field, "kind"), TopologyKinds())
		return false
	}
	config := reflect.New(reflect.TypeOf(builder))
	config.Elem().Set(reflect.ValueOf(builder))
	t.config = config.Interface()
	return true
}

func (t *Topology) parts() []any {
	if t.config == nil {
		return nil
	}
	return []any{t.config}
}

// Builder is the builder of the network with all its fields.
func (t *Topology) Builder() topology.Builder {
	return reflect.ValueOf(t.config).Elem().Interface().(topology.Builder)
}

// chooseOneOf refuses the word by which a mapping says what kind it is.
func (d *decoder) chooseOneOf(mapping *yaml.Node, field string, names []string) {
	_, value := entry(mapping, field[lastDot(field)+1:])
	if value == nil {
		e := Error{Field: field, Got: "nothing", Want: "one of " + list(names)}
		d.fail(mapping, e)
		return
	}
	d.oneOf(value, field, names)
}
