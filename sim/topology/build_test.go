package topology_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/braid-rdma/braid/sim/topology"
)

func build(t testing.TB, b topology.Builder) *topology.Graph {
	t.Helper()
	g, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// first chooses the first of equal ports wherever it is asked.
func first(int) uint32 { return 0 }

// A shape is what can be counted in a graph. The distances are in links and the
// path counts between host 0 and another: a neighbour in its group, and the last
// host of the graph.
type shape struct {
	hosts, switches, links int
	nearHops, nearPaths    int
	farHops, farPaths      int
}

func shapeOf(g *topology.Graph) shape {
	r := g.Routes()
	near, far := 1, len(g.Hosts)-1
	return shape{
		hosts:     len(g.Hosts),
		switches:  len(g.Nodes) - len(g.Hosts),
		links:     len(g.Links),
		nearHops:  len(r.Path(0, near, first)),
		nearPaths: r.CountPaths(0, near),
		farHops:   len(r.Path(0, far, first)),
		farPaths:  r.CountPaths(0, far),
	}
}

func TestShapes(t *testing.T) {
	const rate = 10 * topology.Gbps
	for _, test := range []struct {
		name    string
		builder topology.Builder
		want    shape
	}{
		{"testbed", topology.Testbed(), shape{10, 6, 18, 2, 1, 4, 4}},
		{"mprdma320", topology.MPRDMA320(), shape{320, 36, 448, 2, 1, 4, 4}},
		{"figure 4", topology.MPRDMAFigure4(), shape{16, 2, 17, 2, 1, 3, 1}},
		{"figure 5", topology.MPRDMAFigure5(), shape{20, 6, 28, 2, 1, 4, 4}},
		{"ls128", topology.LS128(), shape{128, 24, 256, 2, 1, 4, 16}},
		{"ls1024", topology.LS1024(), shape{1024, 64, 2048, 2, 1, 4, 32}},
		{"data partition 1", topology.DataPartition1(), shape{20, 10, 45, 2, 1, 4, 5}},
		{"data partition 2", topology.DataPartition2(), shape{20, 5, 29, 2, 1, 4, 3}},
		{"data partition 3", topology.DataPartition3(), shape{128, 12, 160, 2, 1, 4, 4}},
		{
			"parallel links",
			topology.LeafSpine{Leaves: 2, HostsPerLeaf: 2, Spines: 2, HostRate: rate, LinksPerSpine: 3},
			shape{4, 4, 16, 2, 1, 4, 18},
		},
		{
			"direct paths",
			topology.ParallelPaths{Senders: 2, Receivers: 1, HostRate: rate, Rates: []int64{rate, rate, rate}},
			shape{3, 2, 6, 2, 1, 3, 3},
		},
		{
			"full mesh",
			topology.Mesh{Switches: 5, HostsPerSwitch: 4, HostRate: rate},
			shape{20, 5, 30, 2, 1, 3, 1},
		},
		{"star", topology.Mesh{Switches: 1, HostsPerSwitch: 4, HostRate: rate}, shape{4, 1, 4, 2, 1, 2, 1}},
		{"fat tree 4", topology.FatTree{K: 4, Rate: rate}, shape{16, 20, 48, 2, 1, 6, 4}},
		{"fat tree 8", topology.FatTree{K: 8, Rate: rate}, shape{128, 80, 384, 2, 1, 6, 16}},
		{
			"oversubscribed fat tree",
			topology.FatTree{K: 4, Rate: rate, HostsPerEdge: 6, CoreUplinks: 1},
			shape{48, 18, 72, 2, 1, 6, 2},
		},
		{"two podsets", twoPodsets, shape{1152, 120, 1472, 2, 1, 6, 64}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := shapeOf(build(t, test.builder)); got != test.want {
				t.Errorf("got  %+v\nwant %+v", got, test.want)
			}
		})
	}
}

// twoPodsets is the network of "RDMA over commodity Ethernet at scale", with a rate and delays that tell links apart.
var twoPodsets = topology.FatTree{
	K: 8, Pods: 2, EdgesPerPod: 24, HostsPerEdge: 24, CoreUplinks: 16, Rate: 4, HostRate: 3, Delay: 2, HostDelay: 1, CoreDelay: 5,
}

func TestFatTreeLinks(t *testing.T) {
	g := build(t, twoPodsets)
	for name, want := range map[string][2]int64{
		"h1151-edge47": {3, 1}, "edge23-agg3": {4, 2}, "edge24-agg4": {4, 2}, "agg0-core15": {4, 5}, "agg7-core63": {4, 5},
	} {
		i, ok := g.LinkNamed(name)
		if !ok {
			t.Errorf("no link %s", name)
			continue
		}
		if got := [2]int64{g.Links[i].Rate, g.Links[i].Delay}; got != want {
			t.Errorf("%s has rate and delay %v, want %v", name, got, want)
		}
	}
}

func TestFatTreeInsideAPod(t *testing.T) {
	g := build(t, topology.FatTree{K: 4, Rate: 1})
	r := g.Routes()
	// Hosts 0 and 2 hang on different edges of pod 0: up to either
	// aggregation switch and down again.
	if hops, paths := len(r.Path(0, 2, first)), r.CountPaths(0, 2); hops != 4 || paths != 2 {
		t.Errorf("%d hops, %d paths; want 4 and 2", hops, paths)
	}
	if g.GroupOf[2] != g.GroupOf[0] || g.GroupOf[4] == g.GroupOf[0] {
		t.Errorf("groups are %v, want one for each pod of four hosts", g.GroupOf)
	}
}

func TestOversubscription(t *testing.T) {
	for _, test := range []struct {
		name   string
		config topology.LeafSpine
		want   float64
	}{
		{"paper's full bisection", topology.MPRDMA320(), 1},
		{"fabric rate left out", topology.LS128(), 1},
		{"more hosts than uplinks", topology.DataPartition3(), 4},
		{"more hosts, parallel links", topology.LeafSpine{HostsPerLeaf: 12, Spines: 2, LinksPerSpine: 2, HostRate: 1}, 3},
	} {
		if got := test.config.Oversubscription(); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
	edge, core := topology.FatTree{K: 4, Rate: 1, HostsPerEdge: 6, CoreUplinks: 1}.Oversubscription()
	if edge != 3 || core != 2 {
		t.Errorf("fat tree: %v at the edge, %v at the core; want 3 and 2", edge, core)
	}
	podsets := twoPodsets
	podsets.HostRate = podsets.Rate
	if edge, core := podsets.Oversubscription(); edge != 6 || core != 1.5 {
		t.Errorf("two podsets: %v at the edge, %v at the core; want 6 and 1.5", edge, core)
	}
}

func TestNames(t *testing.T) {
	leafSpine := topology.LeafSpine{Leaves: 2, HostsPerLeaf: 2, Spines: 2, HostRate: 1, LinksPerSpine: 2}
	for _, test := range []struct {
		name         string
		builder      topology.Builder
		nodes, links string
	}{
		{
			"leaf-spine", leafSpine,
			"h0 h1 h2 h3 leaf0 leaf1 spine0 spine1",
			"h0-leaf0 h1-leaf0 h2-leaf1 h3-leaf1 leaf0-spine0.0 leaf0-spine0.1 leaf0-spine1.0 leaf0-spine1.1 " +
				"leaf1-spine0.0 leaf1-spine0.1 leaf1-spine1.0 leaf1-spine1.1",
		},
		{
			"paths as links",
			topology.ParallelPaths{Senders: 1, HostRate: 1, Rates: []int64{1, 1}},
			"h0 h1 tor0 tor1", "h0-tor0 h1-tor1 path1 path2",
		},
		{
			"paths as switches",
			topology.ParallelPaths{Senders: 1, HostRate: 1, Rates: []int64{1}, MiddleSwitches: true},
			"h0 h1 tor0 tor1 path1", "h0-tor0 h1-tor1 tor0-path1 path1-tor1",
		},
		{
			"fat tree",
			topology.FatTree{K: 2, Rate: 1},
			"h0 h1 edge0 edge1 agg0 agg1 core0", "h0-edge0 h1-edge1 edge0-agg0 edge1-agg1 agg0-core0 agg1-core0",
		},
	} {
		g := build(t, test.builder)
		var nodes, links []string
		for _, n := range g.Nodes {
			nodes = append(nodes, n.Name)
		}
		for _, l := range g.Links {
			links = append(links, l.Name)
		}
		if got := strings.Join(nodes, " "); got != test.nodes {
			t.Errorf("%s: nodes %s, want %s", test.name, got, test.nodes)
		}
		if got := strings.Join(links, " "); got != test.links {
			t.Errorf("%s: links %s, want %s", test.name, got, test.links)
		}
	}
}

func TestPathsHaveTheirOwnRatesAndDelays(t *testing.T) {
	g := build(t, topology.ParallelPaths{
		Senders: 1, HostRate: 7, HostDelay: 5, Rates: []int64{20, 40}, Delays: []int64{3, 4}, MiddleSwitches: true,
	})
	for name, want := range map[string][2]int64{
		"h0-tor0": {7, 5}, "tor0-path1": {20, 3}, "path1-tor1": {20, 3}, "tor0-path2": {40, 4}, "path2-tor1": {40, 4},
	} {
		i, ok := g.LinkNamed(name)
		if !ok {
			t.Errorf("no link %s", name)
			continue
		}
		if got := [2]int64{g.Links[i].Rate, g.Links[i].Delay}; got != want {
			t.Errorf("%s has rate and delay %v, want %v", name, got, want)
		}
	}
}

func TestConfigErrorsNameTheField(t *testing.T) {
	leafSpine := func(change func(*topology.LeafSpine)) topology.Builder {
		c := topology.LS128()
		change(&c)
		return c
	}
	testbed := func(change func(*topology.ParallelPaths)) topology.Builder {
		c := topology.Testbed()
		change(&c)
		return c
	}
	mesh := func(change func(*topology.Mesh)) topology.Builder {
		c := topology.DataPartition2()
		change(&c)
		return c
	}
	for _, test := range []struct {
		field   string
		builder topology.Builder
	}{
		{"Leaves", leafSpine(func(c *topology.LeafSpine) { c.Leaves = 0 })},
		{"HostsPerLeaf", leafSpine(func(c *topology.LeafSpine) { c.HostsPerLeaf = -1 })},
		{"Spines", leafSpine(func(c *topology.LeafSpine) { c.Spines = topology.MaxSwitches + 1 })},
		{"LinksPerSpine", leafSpine(func(c *topology.LeafSpine) { c.LinksPerSpine = -2 })},
		{"HostRate", leafSpine(func(c *topology.LeafSpine) { c.HostRate = 0; c.FabricRate = 1 })},
		{"FabricRate", leafSpine(func(c *topology.LeafSpine) { c.FabricRate = -1 })},
		{"HostDelay", leafSpine(func(c *topology.LeafSpine) { c.HostDelay = -1 })},
		{"FabricDelay", leafSpine(func(c *topology.LeafSpine) { c.FabricDelay = -1 })},
		{"hosts", leafSpine(func(c *topology.LeafSpine) { c.HostsPerLeaf = topology.MaxHosts })},
		{"switches", leafSpine(func(c *topology.LeafSpine) { c.Spines = topology.MaxSwitches })},
		{"links", leafSpine(func(c *topology.LeafSpine) { c.LinksPerSpine = topology.MaxPorts })},
		{"K", topology.FatTree{K: 3, Rate: 1}},
		{"K", topology.FatTree{K: 0, Rate: 1}},
		{"Rate", topology.FatTree{K: 4, HostRate: 1}},
		{"Delay", topology.FatTree{K: 4, Rate: 1, Delay: -1}},
		{"HostDelay", topology.FatTree{K: 4, Rate: 1, HostDelay: -1}},
		{"CoreDelay", topology.FatTree{K: 4, Rate: 1, CoreDelay: -1}},
		{"Pods", topology.FatTree{K: 4, Rate: 1, Pods: -1}},
		{"EdgesPerPod", topology.FatTree{K: 4, Rate: 1, EdgesPerPod: -1}},
		{"hosts", topology.FatTree{K: 4, Rate: 1, Pods: 64, EdgesPerPod: 64, HostsPerEdge: 64}},
		{"HostsPerEdge", topology.FatTree{K: 4, Rate: 1, HostsPerEdge: -1}},
		{"CoreUplinks", topology.FatTree{K: 4, Rate: 1, CoreUplinks: -1}},
		{"switches", topology.FatTree{K: 256, Rate: 1, HostsPerEdge: 1}},
		{"Senders", testbed(func(c *topology.ParallelPaths) { c.Senders = 0 })},
		{"Receivers", testbed(func(c *topology.ParallelPaths) { c.Receivers = -1 })},
		{"Rates", testbed(func(c *topology.ParallelPaths) { c.Rates = nil })},
		{"Rates[2]", testbed(func(c *topology.ParallelPaths) { c.Rates[2] = 0 })},
		{"Delays", testbed(func(c *topology.ParallelPaths) { c.Delays = []int64{1} })},
		{"Delays[1]", testbed(func(c *topology.ParallelPaths) { c.Delays = []int64{1, -1, 1, 1} })},
		{"hosts", testbed(func(c *topology.ParallelPaths) { c.Senders = topology.MaxHosts - 1 })},
		{"Switches", mesh(func(c *topology.Mesh) { c.Switches = 0 })},
		{"HostsPerSwitch", mesh(func(c *topology.Mesh) { c.HostsPerSwitch = 0 })},
		{"Without[0]", mesh(func(c *topology.Mesh) { c.Without = [][2]int{{1, 1}} })},
		{"Without[1]", mesh(func(c *topology.Mesh) { c.Without = [][2]int{{0, 1}, {2, 5}} })},
		{"links", mesh(func(c *topology.Mesh) { c.Switches = topology.MaxSwitches })},
	} {
		g, err := test.builder.Build()
		var config *topology.ConfigError
		if g != nil || !errors.Is(err, topology.ErrConfig) || !errors.As(err, &config) || config.Field != test.field {
			t.Errorf("%+v: got %v, want an error about %s", test.builder, err, test.field)
		}
	}
}

func TestMeshCutInTwo(t *testing.T) {
	_, err := topology.Mesh{Switches: 2, HostsPerSwitch: 1, HostRate: 1, Without: [][2]int{{1, 0}}}.Build()
	if !errors.Is(err, topology.ErrDisconnected) {
		t.Errorf("got %v, want ErrDisconnected", err)
	}
}

func TestPresets(t *testing.T) {
	var names []string
	for _, p := range topology.Presets() {
		build(t, p.Builder)
		if p.About == "" || slices.Contains(names, p.Name) {
			t.Errorf("preset %q has no description, or a name that is taken", p.Name)
		}
		names = append(names, p.Name)
	}
}

// The papers state round trips; the presets state delays of links.
func TestBaseRoundTrips(t *testing.T) {
	for _, test := range []struct {
		name    string
		builder topology.Builder
		want    int64
	}{
		{"testbed", topology.Testbed(), 12 * topology.Microsecond},
		{"mprdma320", topology.MPRDMA320(), 16 * topology.Microsecond},
		{"figure 4", topology.MPRDMAFigure4(), 100 * topology.Microsecond},
		{"figure 5", topology.MPRDMAFigure5(), 16 * topology.Microsecond},
	} {
		g := build(t, test.builder)
		var oneWay int64
		for _, step := range g.Routes().Path(0, len(g.Hosts)-1, first) {
			oneWay += g.Links[step.Link].Delay
		}
		if 2*oneWay != test.want {
			t.Errorf("%s: round trip of %d ps, want %d", test.name, 2*oneWay, test.want)
		}
	}
}
