package sim

import (
	"strings"
	"testing"

	"github.com/braid-rdma/braid/sim/topology"
	"github.com/braid-rdma/braid/sim/workload"
	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

// Row 46: ECMP polarises: switches that hash alike leave most links of the core idle,
// and a connection may have all its packets on one link. Other ports are found within
// a second.
func polarisation(t *testing.T) {
	t.Run("switches hash alike", switchesHashAlike)
	t.Run("all on one link", allOnOneLink)
}

// switchesHashAlike lets every switch choose by the same hash. Virtual paths still
// find all uplinks of the edge; one flow on one port, as RC has it, does not.
func switchesHashAlike(t *testing.T) {
	const uplinks = 4
	single := wired
	single.MP.Policy = transport.NewSinglePath
	for _, test := range []struct {
		name        string
		qp          verbs.QPOptions
		least, most float64
	}{{"paper", paper, 0.9, 1.01}, {"wire", wired, 0.9, 1.01}, {"single path", single, 0.9 / uplinks, 1.01 / uplinks}} {
		cfg := Config{Seed: 1}
		cfg.Switch = SwitchConfig{SharedSeed: true, Marking: dctcp}
		n := newNetwork(t, topology.FatTree{K: 2 * uplinks, Rate: 1 * gbps, HostRate: uplinks * gbps, Delay: topology.Microsecond}, cfg)
		traffic := carry(t, n, test.qp, workload.Flow{Src: 0, Dst: n.Hosts() - 1, Message: 1 << 16})
		n.Run(Second)
		rate := goodput(n, traffic, 1200*Millisecond) / (payloadShare * uplinks * 1e9)
		t.Logf("%s: %.3f of the edge's uplinks", test.name, rate)
		if rate < test.least || rate > test.most {
			t.Errorf("%s: %.3f of what the uplinks of the edge offer, want %.2f to %.2f", test.name, rate, test.least, test.most)
		}
		noError(t, traffic)
	}
}

// allOnOneLink slows three links of four down until nearly all that acknowledgements
// clock goes by ports that lead to the fourth. When the links are well again only
// probing, or rebalancing, leads back to their ports. The paper's mode finds two
// or three of them within the second, by chance; it has no rebalancing, and a probe
// is one packet in a hundred round trips.
func allOnOneLink(t *testing.T) {
	blind := paper
	blind.MP.ProbeProbability = 0
	for _, test := range []struct {
		name  string
		qp    verbs.QPOptions
		links int // that are in use after a second, at least
		most  int
		least float64 // of their rates
	}{{"paper", paper, 3, 4, 0.7}, {"wire", wired, 4, 4, 0.95}, {"paper without probes", blind, 1, 1, 0.2}} {
		cfg := Config{Seed: 1}
		cfg.Switch = SwitchConfig{Buffer: 2 << 20, Marking: dctcp}
		n := newNetwork(t, paths(4, 1*gbps, 4*gbps), cfg)
		for _, link := range []string{"tor0-path2", "tor0-path3", "tor0-path4"} {
			impair(t, n, 0, link, Forth, Impairment{Rate: gbps / 100})
			impair(t, n, 300*Millisecond, link, Forth, Impairment{})
		}
		traffic := stream(t, n, test.qp)
		n.Run(1300 * Millisecond)
		before := n.Links()
		rate := goodput(n, traffic, 1500*Millisecond) / (payloadShare * 4e9)
		used := 0
		for i, l := range n.Links() {
			if l.Bytes -= before[i].Bytes; l.From == "tor0" && strings.HasPrefix(l.To, "path") && l.Utilisation(200*Millisecond) > 0.05 {
				used++
			}
		}
		t.Logf("%s: %.3f of the four links, %d of them in use, a second after they healed", test.name, rate, used)
		if rate < test.least || used < test.links || used > test.most {
			t.Errorf("%s: %.3f of the four links, %d of them in use, a second after they healed", test.name, rate, used)
		}
		noError(t, traffic)
	}
}
