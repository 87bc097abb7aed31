package sim

import (
	"math/rand/v2"
	"testing"

	"github.com/braid-rdma/braid/sim/topology"
	"github.com/braid-rdma/braid/sim/workload"
	"github.com/braid-rdma/braid/verbs"
)

const gbps = topology.Gbps

// paper and rc are the kinds of queue pair that most tests use, wired is MP as it
// runs over sockets.
var (
	paper = verbs.QPOptions{Type: verbs.MP, MP: verbs.PaperOptions()}
	wired = verbs.QPOptions{Type: verbs.MP, MP: verbs.WireOptions()}
	rc    = verbs.QPOptions{Type: verbs.RC}
)

// newNetwork builds a network or ends the test.
func newNetwork(t testing.TB, b topology.Builder, cfg Config) *Network {
	t.Helper()
	g, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	n, err := New(g, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// built is a graph that a test has made by hand.
type built struct{ *topology.Graph }

func (b built) Build() (*topology.Graph, error) { return b.Graph, nil }

// leafSpine is a small network of 10 Gb/s links of 1 µs.
func leafSpine(leaves, hosts, spines int) topology.LeafSpine {
	return topology.LeafSpine{Leaves: leaves, HostsPerLeaf: hosts, Spines: spines, HostRate: 10 * gbps, HostDelay: topology.Microsecond, FabricDelay: topology.Microsecond}
}

// star is one switch with hosts.
func star(hosts int, rate int64) topology.Builder {
	g := &topology.Graph{}
	for i := range hosts {
		g.AddHost("h"+string(rune('a'+i)), 0)
	}
	sw := g.AddSwitch("sw", 1)
	for i := range hosts {
		g.AddLink(topology.Link{A: g.Hosts[i], B: sw, Rate: rate, Delay: topology.Microsecond})
	}
	return built{g}
}

// carry sets flows up or ends the test.
func carry(t testing.TB, n *Network, qp verbs.QPOptions, flows ...workload.Flow) *Traffic {
	t.Helper()
	traffic, err := n.Carry(flows, Carrier{QP: qp})
	if err != nil {
		t.Fatal(err)
	}
	return traffic
}

// permutation is a flow from every host to another.
func permutation(t testing.TB, n *Network, bytes int64) []workload.Flow {
	t.Helper()
	flows, err := workload.Permutation{Bytes: bytes}.Flows(n.Hosts(), rand.New(rand.NewPCG(1, 2)))
	if err != nil {
		t.Fatal(err)
	}
	return flows
}

// finish runs a network until nothing is left and checks that all flows are done
// and that nothing is left over.
func finish(t testing.TB, n *Network, traffic *Traffic) {
	t.Helper()
	if n.Run(100 * Second) {
		t.Error("something is left to happen")
	}
	checkDone(t, traffic)
	if err := n.AuditEnd(); err != nil {
		t.Error(err)
	}
}

func checkDone(t testing.TB, traffic *Traffic) {
	t.Helper()
	for i := range traffic.Flows() {
		if r := traffic.Result(i); !r.Done() || r.Err != nil {
			t.Fatalf("flow %d from host %d to %d: %d of %d bytes acknowledged, error %v", i, r.Src, r.Dst, r.Acked, r.Bytes, r.Err)
		}
	}
	if err := traffic.Verify(); err != nil {
		t.Error(err)
	}
}

// impair scripts a fault or ends the test.
func impair(t testing.TB, n *Network, at Time, link string, d Direction, i Impairment) {
	t.Helper()
	if err := n.Impair(at, link, d, i); err != nil {
		t.Fatal(err)
	}
}

// total sums what all links counted.
func total(n *Network) (sum LinkResult) {
	for _, l := range n.Links() {
		sum.Packets += l.Packets
		sum.Marked += l.Marked
		sum.Dropped += l.Dropped
		sum.Lost += l.Lost
		sum.Damaged += l.Damaged
		sum.Doubled += l.Doubled
		sum.Pauses += l.Pauses
	}
	return sum
}

// inject sends a packet of no queue pair, to test what carries packets. The host
// that it arrives at counts it as unknown.
func inject(n *Network, src, dst int, size int32, priority uint8, sport uint16) {
	injectData(n, src, dst, size, priority, sport, 0)
}

// injectData is inject with a payload, of which only the length matters.
func injectData(n *Network, src, dst int, size int32, priority uint8, sport uint16, length int) {
	h := n.hosts[src]
	p := h.shard.pool.take()
	p.src, p.dst, p.size, p.priority, p.sport = int32(src), int32(dst), size, priority, sport
	p.DestQP, p.Length, p.ect = 0, length, true
	h.nics[0].enqueue(p)
}

// arrivals runs a network and returns when unknown packets arrived at a host.
func arrivals(n *Network, host int) (at []Time) {
	seen := n.hosts[host].unknown
	for n.step() {
		for ; seen < n.hosts[host].unknown; seen++ {
			at = append(at, n.Now())
		}
	}
	return at
}
