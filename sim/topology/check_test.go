package topology_test

import (
	"errors"
	"testing"

	"github.com/braid-rdma/braid/sim/topology"
)

// pair is the smallest network with a switch: h0 - s - h1.
func pair() *topology.Graph {
	g := &topology.Graph{}
	h0, h1, s := g.AddHost("h0", 0), g.AddHost("h1", 0), g.AddSwitch("s", 1)
	g.AddLink(topology.Link{A: h0, B: s, Rate: 1})
	g.AddLink(topology.Link{A: h1, B: s, Rate: 1})
	return g
}

func TestCheckAccepts(t *testing.T) {
	for name, change := range map[string]func(*topology.Graph){
		"the smallest network": func(*topology.Graph) {},
		"a second link to the same switch": func(g *topology.Graph) {
			g.AddLink(topology.Link{A: 0, B: 2, Rate: 1, Name: "second"})
		},
		"hosts on two networks": func(g *topology.Graph) {
			other := g.AddSwitch("other", 1)
			g.AddLink(topology.Link{A: 0, B: other, Rate: 1})
			g.AddLink(topology.Link{A: 1, B: other, Rate: 1})
		},
		"two hosts back to back": func(g *topology.Graph) {
			*g = topology.Graph{}
			g.AddLink(topology.Link{A: g.AddHost("a", 0), B: g.AddHost("b", 0), Rate: 1})
		},
		"one host alone with its switch": func(g *topology.Graph) {
			*g = topology.Graph{}
			g.AddLink(topology.Link{A: g.AddHost("a", 0), B: g.AddSwitch("s", 1), Rate: 1})
		},
	} {
		g := pair()
		change(g)
		if err := g.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCheckRejects(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*topology.Graph)
		want   error
		where  string // name of the node or link, if one is at fault
	}{
		{"empty", func(g *topology.Graph) { *g = topology.Graph{} }, topology.ErrNoHosts, ""},
		{"node without name", func(g *topology.Graph) { g.Nodes[1].Name = "" }, topology.ErrNoName, ""},
		{"equal names", func(g *topology.Graph) { g.Nodes[1].Name = "h0" }, topology.ErrDuplicateName, "h0"},
		{"unknown kind", func(g *topology.Graph) { g.Nodes[2].Kind = 7 }, topology.ErrKind, "s"},
		{"host not listed", func(g *topology.Graph) { g.Nodes[2].Kind = topology.Host }, topology.ErrHostList, "s"},
		{"switch listed", func(g *topology.Graph) { g.Hosts[1] = 2 }, topology.ErrHostList, "s"},
		{"host listed twice", func(g *topology.Graph) { g.Hosts[1] = 0 }, topology.ErrHostList, "h0"},
		{"host beyond the nodes", func(g *topology.Graph) { g.Hosts[1] = 3 }, topology.ErrHostList, ""},
		{"group missing", func(g *topology.Graph) { g.GroupOf = g.GroupOf[:1] }, topology.ErrHostList, ""},
		{"link to nowhere", func(g *topology.Graph) { g.Links[1].B = 3 }, topology.ErrNoNode, "h1-s"},
		{"link from nowhere", func(g *topology.Graph) { g.Links[1].A = -1 }, topology.ErrNoNode, "h1-s"},
		{"self loop", func(g *topology.Graph) { g.Links[1].A = 2 }, topology.ErrSelfLoop, "h1-s"},
		{"no rate", func(g *topology.Graph) { g.Links[0].Rate = 0 }, topology.ErrRate, "h0-s"},
		{"negative delay", func(g *topology.Graph) { g.Links[0].Delay = -1 }, topology.ErrDelay, "h0-s"},
		{"link without name", func(g *topology.Graph) { g.Links[0].Name = "" }, topology.ErrNoName, ""},
		{"equal link names", func(g *topology.Graph) { g.Links[1].Name = "h0-s" }, topology.ErrDuplicateName, "h0-s"},
		{"lonely switch", func(g *topology.Graph) { g.AddSwitch("lonely", 1) }, topology.ErrUnconnected, "lonely"},
		{"lonely host", func(g *topology.Graph) { g.AddHost("lonely", 1) }, topology.ErrUnconnected, "lonely"},
		{"two networks", addIslandWithHost, topology.ErrDisconnected, "far"},
		{"switches without hosts", addIslandOfSwitches, topology.ErrDisconnected, "i0"},
		{"a host that would have to forward", addHostInBetween, topology.ErrDisconnected, "far"},
		{"too many ports", addManyPorts, topology.ErrTooManyPorts, "s"},
		{"too many hosts", func(g *topology.Graph) { g.Hosts = make([]int, topology.MaxHosts+1) }, topology.ErrTooLarge, ""},
		{"too many switches", func(g *topology.Graph) {
			g.Nodes = make([]topology.Node, topology.MaxSwitches+3)
		}, topology.ErrTooLarge, ""},
		{"too many links", func(g *topology.Graph) { g.Links = make([]topology.Link, topology.MaxLinks+1) }, topology.ErrTooLarge, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := pair()
			test.change(g)
			err := g.Check()
			if !errors.Is(err, test.want) {
				t.Fatalf("got %v, want %v", err, test.want)
			}
			if got := placeOf(err); got != test.where {
				t.Errorf("%v: blames %q, want %q", err, got, test.where)
			}
		})
	}
}

func placeOf(err error) string {
	var node *topology.NodeError
	var link *topology.LinkError
	switch {
	case errors.As(err, &node):
		return node.Name
	case errors.As(err, &link):
		return link.Name
	}
	return ""
}

func addIslandWithHost(g *topology.Graph) {
	g.AddLink(topology.Link{A: g.AddHost("far", 1), B: g.AddSwitch("island", 1), Rate: 1})
}

func addIslandOfSwitches(g *topology.Graph) {
	g.AddLink(topology.Link{A: g.AddSwitch("i0", 1), B: g.AddSwitch("i1", 1), Rate: 1})
}

// addHostInBetween gives h0 a second NIC, on a network that h1 is not on.
func addHostInBetween(g *topology.Graph) {
	far, other := g.AddHost("far", 1), g.AddSwitch("other", 1)
	g.AddLink(topology.Link{A: 0, B: other, Rate: 1})
	g.AddLink(topology.Link{A: far, B: other, Rate: 1})
}

func addManyPorts(g *topology.Graph) {
	top := g.AddSwitch("top", 2)
	name := make([]byte, 3)
	for i := range topology.MaxPorts - 1 {
		name[0], name[1], name[2] = byte(i), byte(i>>8), '+'
		g.AddLink(topology.Link{A: 2, B: top, Rate: 1, Name: string(name)})
	}
}
