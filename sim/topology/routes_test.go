package topology_test

import (
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/braid-rdma/braid/sim/topology"
)

// distancesTo is the plain way to compute what Routes is clever about: relax
// every link until nothing changes. Only switches pass a distance on.
func distancesTo(g *topology.Graph, target int) []int {
	const far = 1 << 30
	distance := make([]int, len(g.Nodes))
	for i := range distance {
		distance[i] = far
	}
	distance[target] = 0
	improve := func(node, via int) bool {
		forwards := via == target || g.Nodes[via].Kind == topology.Switch
		if forwards && distance[via]+1 < distance[node] {
			distance[node] = distance[via] + 1
			return true
		}
		return false
	}
	for changed := true; changed; {
		changed = false
		for _, l := range g.Links {
			changed = improve(l.A, l.B) || changed
			changed = improve(l.B, l.A) || changed
		}
	}
	return distance
}

// wantShortestPaths compares the routes of a graph with the plain ones, for every
// node and host.
func wantShortestPaths(t *testing.T, g *topology.Graph) {
	t.Helper()
	routes, ports := g.Routes(), g.Ports()
	for host, target := range g.Hosts {
		distance := distancesTo(g, target)
		for node := range g.Nodes {
			if node == target {
				continue
			}
			var want []uint16
			for number, p := range ports[node] {
				forwards := p.Peer == target || g.Nodes[p.Peer].Kind == topology.Switch
				if forwards && distance[p.Peer] == distance[node]-1 {
					want = append(want, uint16(number))
				}
			}
			if got := routes.Ports(node, host); !slices.Equal(got, want) {
				t.Fatalf("from %s to %s by ports %v, want %v", g.Nodes[node].Name, g.Nodes[target].Name, got, want)
			}
		}
	}
}

func TestRoutesAreTheShortestPaths(t *testing.T) {
	for _, p := range topology.Presets() {
		g := build(t, p.Builder)
		if len(g.Hosts) > 128 {
			continue // the plain way takes too long
		}
		t.Run(p.Name, func(t *testing.T) { wantShortestPaths(t, g) })
	}
	t.Run("fat tree", func(t *testing.T) {
		wantShortestPaths(t, build(t, topology.FatTree{K: 4, Rate: 1, HostsPerEdge: 3}))
	})
	t.Run("parallel links", func(t *testing.T) {
		wantShortestPaths(t, build(t, topology.LeafSpine{Leaves: 3, HostsPerLeaf: 2, Spines: 2, HostRate: 1, LinksPerSpine: 2}))
	})
}

// graphFromBytes makes a graph that no builder would: the first bytes say how
// many hosts and switches there are, every later pair is a link.
func graphFromBytes(data []byte) *topology.Graph {
	g := &topology.Graph{}
	if len(data) < 2 {
		return g
	}
	hosts, switches := int(data[0]%8), int(data[1]%8)
	// Switches and hosts alternate, so that host numbers are not node numbers.
	for i := range max(hosts, switches) {
		if i < switches {
			g.AddSwitch(fmt.Sprint("s", i), 1)
		}
		if i < hosts {
			g.AddHost(fmt.Sprint("h", i), i)
		}
	}
	data = data[2:]
	for i := 0; i+1 < len(data) && i < 80; i += 2 {
		n := max(len(g.Nodes), 1)
		link := topology.Link{A: int(data[i]) % n, B: int(data[i+1]) % n, Rate: 1, Name: fmt.Sprint("l", i/2)}
		g.AddLink(link)
	}
	return g
}

// FuzzRoutes checks two promises for graphs of any shape: Check never panics, and
// what it accepts is routed on all shortest paths and on no other.
func FuzzRoutes(f *testing.F) {
	f.Add([]byte{2, 1, 0, 1, 0, 2})                         // two hosts, one switch
	f.Add([]byte{2, 0, 0, 1})                               // back to back
	f.Add([]byte{3, 3, 1, 0, 3, 2, 5, 4, 0, 2, 2, 4, 4, 0}) // a ring of switches
	f.Add([]byte{2, 2, 0, 1, 0, 3, 2, 1, 2, 3})             // two NICs each
	f.Add([]byte{1, 1, 0, 0})                               // self loop
	// Parallel links, and a host with links to a switch and to another host.
	f.Add([]byte{3, 2, 0, 1, 0, 1, 2, 3, 0, 2, 0, 2, 4, 2, 4, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		g := graphFromBytes(data)
		if g.Check() != nil {
			return
		}
		wantShortestPaths(t, g)
		routes := g.Routes()
		for from := range g.Hosts {
			for to := range g.Hosts {
				forth, back := routes.CountPaths(from, to), routes.CountPaths(to, from)
				if forth != back || (from != to) != (forth > 0) {
					t.Fatalf("%d paths from host %d to %d, %d back", forth, from, to, back)
				}
			}
		}
	})
}

func TestHostWithTwoNICs(t *testing.T) {
	// h0 is linked to both leaves, h1 and h2 to one each.
	g := &topology.Graph{}
	h0, h1, h2 := g.AddHost("h0", 0), g.AddHost("h1", 0), g.AddHost("h2", 1)
	leaf0, leaf1, spine := g.AddSwitch("leaf0", 1), g.AddSwitch("leaf1", 1), g.AddSwitch("spine", 2)
	for _, ends := range [][2]int{{h0, leaf0}, {h0, leaf1}, {h1, leaf0}, {h2, leaf1}, {leaf0, spine}, {leaf1, spine}} {
		g.AddLink(topology.Link{A: ends[0], B: ends[1], Rate: 1})
	}
	if err := g.Check(); err != nil {
		t.Fatal(err)
	}
	wantShortestPaths(t, g)
	r := g.Routes()
	for _, test := range []struct {
		why        string
		node, host int
		want       []uint16
	}{
		{"the NIC on h1's leaf", h0, 1, []uint16{0}},
		{"the NIC on h2's leaf", h0, 2, []uint16{1}},
		{"either leaf has h0", spine, 0, []uint16{0, 1}},
		{"the link to h0, not the spine", leaf1, 0, []uint16{0}},
		{"to itself by either switch", h0, 0, []uint16{0, 1}},
	} {
		if got := r.Ports(test.node, test.host); !slices.Equal(got, test.want) {
			t.Errorf("%s: ports %v, want %v", test.why, got, test.want)
		}
	}
}

func TestTwoLinksToTheSameSwitch(t *testing.T) {
	g := pair()
	g.AddLink(topology.Link{A: 0, B: 2, Rate: 1, Name: "second"})
	r := g.Routes()
	if up, down := r.Ports(0, 1), r.Ports(2, 0); !slices.Equal(up, []uint16{0, 1}) || !slices.Equal(down, []uint16{0, 2}) {
		t.Errorf("h0 sends by %v and receives by %v, want its ports 0 and 1, the switch's 0 and 2", up, down)
	}
}

func TestPortsAgreeAtBothEnds(t *testing.T) {
	g := build(t, topology.LeafSpine{Leaves: 3, HostsPerLeaf: 2, Spines: 2, HostRate: 1, LinksPerSpine: 2})
	ports := g.Ports()
	seen := 0
	for node, list := range ports {
		previous := -1
		for number, p := range list {
			back := ports[p.Peer][p.PeerPort]
			if back.Peer != node || back.PeerPort != number || back.Link != p.Link {
				t.Errorf("port %d of %s leads to %+v, which leads back to %+v", number, g.Nodes[node].Name, p, back)
			}
			if p.Link <= previous {
				t.Errorf("ports of %s are not in the order of links", g.Nodes[node].Name)
			}
			previous = p.Link
			seen++
		}
	}
	if seen != 2*len(g.Links) {
		t.Errorf("%d ports, want two for each of %d links", seen, len(g.Links))
	}
}

func TestPathEndsAndNoPath(t *testing.T) {
	g := build(t, topology.Testbed())
	r, ports := g.Routes(), g.Ports()
	path := r.Path(1, 8, func(node int) uint32 { return uint32(node) << 28 })
	node := g.Hosts[1]
	for _, step := range path {
		p := ports[step.Node][step.Port]
		if step.Node != node || step.Link != p.Link {
			t.Fatalf("step %+v does not start at node %d, where the last one ended", step, node)
		}
		node = p.Peer
	}
	if node != g.Hosts[8] || len(path) != 4 {
		t.Errorf("%d steps end at %s", len(path), g.Nodes[node].Name)
	}
	if steps, count := r.Path(3, 3, first), r.CountPaths(3, 3); steps != nil || count != 0 {
		t.Errorf("a host needs no path to itself; got %v, %d", steps, count)
	}
}

func TestEqualSetsAreStoredOnce(t *testing.T) {
	g := build(t, topology.LS128())
	r := g.Routes()
	leaf0, _ := g.NodeNamed("leaf0")
	leaf7, _ := g.NodeNamed("leaf7")
	if a, b := r.Ports(leaf0, 127), r.Ports(leaf7, 0); len(a) != 16 || &a[0] != &b[0] {
		t.Error("two leaves have the same ports upwards but keep them twice")
	}
}

func TestLookUpDoesNotAllocate(t *testing.T) {
	g := build(t, topology.LS128())
	r := g.Routes()
	leaf, _ := g.NodeNamed("leaf0")
	table, sum := r.At(leaf), 0
	if n := testing.AllocsPerRun(100, func() {
		for host := range g.Hosts {
			ports := table.Ports(host)
			hash := topology.Hash(1, 0, uint32(host), 49152, 4791)
			sum += int(ports[topology.Pick(hash, len(ports))])
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// A network of 8,192 hosts must be small to keep.
func TestEightThousandHosts(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector would be measured, not the routing")
	}
	for _, test := range []struct {
		name    string
		builder topology.Builder
	}{
		{"leaf-spine of 576 switches", topology.LeafSpine{Leaves: 512, HostsPerLeaf: 16, Spines: 64, HostRate: topology.Gbps}},
		{"fat tree of 1,280 switches", topology.FatTree{K: 32, Rate: topology.Gbps}},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := heapInUse()
			g := build(t, test.builder)
			r := g.Routes()
			grew := heapInUse() - before
			t.Logf("%d nodes, %d links: %d MB", len(g.Nodes), len(g.Links), grew>>20)
			if len(g.Hosts) != 8192 {
				t.Fatalf("%d hosts", len(g.Hosts))
			}
			// Routes per host instead of per leaf would exceed the bound.
			if grew > 128<<20 {
				t.Errorf("it takes %d MB", grew>>20)
			}
			for host := 1; host < len(g.Hosts); host += 97 {
				if r.CountPaths(0, host) == 0 || r.CountPaths(host, 0) != r.CountPaths(0, host) {
					t.Errorf("host %d is not reached alike both ways", host)
				}
			}
		})
	}
}

func heapInUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func BenchmarkRoutes8192Hosts(b *testing.B) {
	g := build(b, topology.LeafSpine{Leaves: 512, HostsPerLeaf: 16, Spines: 64, HostRate: topology.Gbps})
	for b.Loop() {
		g.Routes()
	}
}

func BenchmarkForward(b *testing.B) {
	g := build(b, topology.LS1024())
	r := g.Routes()
	leaf, _ := g.NodeNamed("leaf0")
	table, host, sum := r.At(leaf), 0, 0
	for b.Loop() {
		ports := table.Ports(host & 1023)
		sum += int(ports[topology.Pick(topology.Hash(1, 0, uint32(host), 49152, 4791), len(ports))])
		host += 7
	}
	_ = sum
}
