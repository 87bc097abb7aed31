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
	chosen
}

// builders are the kinds of topology: presets first.
func builders() kinds {
	var all kinds
	for _, p := range topology.Presets() {
		all = append(all, kinds{{p.Name, p.Builder}}...)
	}
	return append(all, kinds{
		{"leaf-spine", topology.LeafSpine{}},
		{"fat-tree", topology.FatTree{}},
		{"parallel-paths", topology.ParallelPaths{}},
		{"mesh", topology.Mesh{}},
		{"graph", GraphConfig{}},
	}...)
}

// TopologyKinds lists the kinds of topology: presets first.
func TopologyKinds() []string { return builders().names() }

func (t *Topology) choose(d *decoder, mapping *yaml.Node, field string) bool {
	return t.chooseFrom(builders(), d, mapping, field)
}

// Builder is the builder of the network with all its fields.
func (t *Topology) Builder() topology.Builder {
	return reflect.ValueOf(t.config).Elem().Interface().(topology.Builder)
}
