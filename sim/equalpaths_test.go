package sim

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/braid-rdma/braid/sim/workload"
	"github.com/braid-rdma/braid/verbs"
)

// The defaults of the UDP engine: virtual paths of a connection, and source ports
// for probing to try.
const (
	wirePaths       = 128
	wireSourcePorts = 512
)

// equalPaths is one connection over paths of 1 Gb/s, to which switches hash source
// ports by the seed.
func equalPaths(t *testing.T, seed uint64, spines, virtual, ports int, qp verbs.QPOptions) (*Network, *Traffic) {
	t.Helper()
	cfg := Config{Seed: seed, Paths: virtual, SourcePorts: ports, Switch: SwitchConfig{Buffer: 4 << 20, Marking: dctcp}}
	n := newNetwork(t, paths(spines, gbps, int64(spines)*gbps), cfg)
	// As many messages as perf has outstanding: the window is to be the limit.
	traffic, err := n.Carry([]workload.Flow{{Src: 0, Dst: 1, Message: 1 << 16}}, Carrier{QP: qp, Depth: 128})
	if err != nil {
		t.Fatal(err)
	}
	return n, traffic
}

// TestDefaultsFillEqualPaths lets one connection with the defaults of the wire find
// 4, 8 and 16 equal paths behind ECMP, whatever the hash. With 16 source ports,
// each for good, it misses some of 16 paths in nearly every case.
func TestDefaultsFillEqualPaths(t *testing.T) {
	onlyWithoutDetector(t)
	seeds := 8
	if testing.Short() {
		seeds = 3
	}
	for _, test := range []struct {
		spines, virtual, ports int
		worst, median          float64 // at least; as parts of the sum of the paths
		most                   float64 // the median, at most
	}{
		{4, wirePaths, wireSourcePorts, 0.95, 0.98, 1.01},
		{8, wirePaths, wireSourcePorts, 0.95, 0.98, 1.01},
		{16, wirePaths, wireSourcePorts, 0.95, 0.98, 1.01},
		{16, 16, 0, 0.3, 0.5, 0.8},
	} {
		t.Run(fmt.Sprintf("%d paths, %d virtual ones", test.spines, test.virtual), func(t *testing.T) {
			var rates []float64
			for seed := range uint64(seeds) {
				n, traffic := equalPaths(t, 1+seed, test.spines, test.virtual, test.ports, wired)
				n.Run(100 * Millisecond)
				rates = append(rates, goodput(n, traffic, 200*Millisecond)/(payloadShare*float64(test.spines)*gbps))
				noError(t, traffic)
			}
			slices.Sort(rates)
			worst, median := rates[0], rates[len(rates)/2]
			t.Logf("of the sum of the paths: worst %.3f, median %.3f of %d seeds", worst, median, seeds)
			if worst < test.worst || median < test.median || median > test.most {
				t.Errorf("worst %.3f, median %.3f of the sum; want at least %.2f and %.2f to %.2f", worst, median, test.worst, test.median, test.most)
			}
		})
	}
}

// TestProbingFindsNewPaths begins with so few virtual paths that some of eight
// paths have none. Where probing may try other source ports (MP-RDMA §3.5) all are
// found; where it may not, they stay idle for ever.
func TestProbingFindsNewPaths(t *testing.T) {
	onlyWithoutDetector(t)
	const spines, virtual = 8, 12
	qp := wired
	// A window that leaves virtual paths idle, and a probe in every round trip.
	qp.MP.ProbeProbability, qp.MP.Run = 1, 1
	qp.MP.InitialWindow, qp.MP.MaxWindow, qp.MP.MaxWindowBytes = 8, 8, 0
	for _, test := range []struct{ ports, least, most int }{{0, 1, spines - 1}, {wireSourcePorts, spines, spines}} {
		n, traffic := equalPaths(t, 1, spines, virtual, test.ports, qp)
		n.Run(Second)
		used := 0
		for _, l := range n.Links() {
			if l.From == "tor0" && strings.HasPrefix(l.To, "path") && l.Packets > 100 {
				used++
			}
		}
		t.Logf("%d source ports: %d of %d paths in use", max(virtual, test.ports), used, spines)
		if used < test.least || used > test.most {
			t.Errorf("%d source ports: %d of %d paths in use, want %d to %d", max(virtual, test.ports), used, spines, test.least, test.most)
		}
		noError(t, traffic)
	}
}
