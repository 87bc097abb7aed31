package lab

import (
	"net/netip"
	"slices"
	"testing"
)

// walker follows packets through a plan as routers would.
type walker struct {
	t     *testing.T
	plan  *Plan
	owner map[netip.Addr]string // which node has an address
}

func newWalker(t *testing.T, o Options) *walker {
	o = o.WithDefaults()
	if err := o.Check(); err != nil {
		t.Fatal(err)
	}
	w := &walker{t: t, plan: NewPlan(o), owner: map[netip.Addr]string{}}
	own := func(addr netip.Addr, node string) {
		if other, taken := w.owner[addr]; taken {
			t.Fatalf("%v belongs to %s and to %s", addr, other, node)
		}
		w.owner[addr] = node
	}
	for _, l := range w.plan.Links {
		own(l.Lower.Addr.Addr(), l.Lower.Node)
		own(l.Upper.Addr.Addr(), l.Upper.Node)
	}
	for _, n := range w.plan.Nodes {
		for _, further := range n.further() {
			own(further, n.Name)
		}
	}
	return w
}

// gateways are where a node sends a packet: over its own link, or by the most
// specific route, of which one for the source goes first.
func (w *walker) gateways(node string, source, destination netip.Addr) []netip.Addr {
	for _, l := range w.plan.Links {
		for _, ends := range [][2]Port{{l.Lower, l.Upper}, {l.Upper, l.Lower}} {
			if ends[0].Node == node && ends[1].Addr.Addr() == destination {
				return []netip.Addr{destination}
			}
		}
	}
	for _, bySource := range []bool{true, false} {
		var best *Route
		for i := range w.plan.Routes {
			r := &w.plan.Routes[i]
			if r.Node == node && r.Source.IsValid() == bySource && (!bySource || r.Source.Contains(source)) &&
				r.Destination.Contains(destination) && (best == nil || r.Destination.Bits() > best.Destination.Bits()) {
				best = r
			}
		}
		if best != nil {
			return best.Gateways
		}
	}
	return nil
}

// ways are the ways of a packet by all choices of the routers.
func (w *walker) ways(source, destination netip.Addr) [][]string {
	var ways [][]string
	var walk func(node string, so []string)
	walk = func(node string, so []string) {
		so = append(slices.Clone(so), node)
		if node == w.owner[destination] {
			ways = append(ways, so)
			return
		}
		gateways := w.gateways(node, source, destination)
		if len(so) > 5 || len(gateways) == 0 {
			w.t.Fatalf("from %v to %v: lost after %v", source, destination, so)
		}
		for _, gateway := range gateways {
			walk(w.owner[gateway], so)
		}
	}
	walk(w.owner[source], nil)
	return ways
}

func TestPlanLeadsEverywhereOverAllSpines(t *testing.T) {
	for _, o := range []Options{{}, {Leaves: 3, HostsPerLeaf: 2, Spines: 2}, {Leaves: 1}, {HostsPerLeaf: 1, Spines: 1}, {Leaves: 2, HostsPerLeaf: 1, Spines: MaxSpines}} {
		w := newWalker(t, o)
		for _, a := range w.plan.Nodes {
			for _, b := range w.plan.Nodes {
				if a.Role != Host || b.Role != Host || a.Name == b.Name {
					continue
				}
				want := w.plan.Options.Spines
				if a.Leaf == b.Leaf {
					want = 1
				}
				for _, ends := range [][2]netip.Addr{{a.Addr, b.Addr}, {a.Spare[0], b.Spare[spareAddresses-1]}} {
					if got := len(w.ways(ends[0], ends[1])); got != want {
						t.Errorf("%+v: %d ways from %s to %s, want %d", o, got, a.Name, b.Name, want)
					}
				}
				w.checkPinned(&a, &b)
			}
		}
	}
}

// checkPinned checks that an address of a path is routed over it, as source and
// as destination.
func (w *walker) checkPinned(a, b *Node) {
	for spine := range w.plan.Options.Spines {
		for _, ends := range [][2]netip.Addr{{a.Pinned[spine], b.Addr}, {a.Addr, b.Pinned[spine]}, {a.Pinned[spine], b.Pinned[spine]}} {
			ways := w.ways(ends[0], ends[1])
			if len(ways) != 1 || a.Leaf != b.Leaf && ways[0][2] != spineName(spine) {
				w.t.Errorf("from %v to %v: %v, want spine %d alone", ends[0], ends[1], ways, spine)
			}
		}
	}
}

func TestDefaultsAreThePapersTestbed(t *testing.T) {
	p := NewPlan(Options{}.WithDefaults())
	if len(p.Hosts()) != 10 || p.Options.Leaves != 2 || p.Options.Spines != 4 {
		t.Errorf("%d hosts, %d leaves, %d spines", len(p.Hosts()), p.Options.Leaves, p.Options.Spines)
	}
}

func TestNodeByName(t *testing.T) {
	p := NewPlan(Options{}.WithDefaults())
	if n, err := p.Node("h9"); err != nil || n.Leaf != 1 || n.Addr.String() != "10.2.4.2" {
		t.Errorf("%+v, %v", n, err)
	}
	if _, err := p.Node("h10"); err == nil {
		t.Error("there is a host too many")
	}
}
