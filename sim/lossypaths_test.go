package sim

import (
	"fmt"
	"testing"

	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

// counters are those of the sender of flow 0.
func (t *Traffic) senderCounters() transport.Counters {
	f := t.flows[0]
	source, _ := f.ends(&f.lanes[0])
	return source.Stats().Counters
}

// TestLossyPathsAreUsed: three of four paths lose packets at random. What they deliver is worth
// having, and their losses do not close the window.
func TestLossyPathsAreUsed(t *testing.T) {
	onlyWithoutDetector(t)
	for _, test := range []struct{ loss, least, before float64 }{ // in paths
		{0.005, 3.9, 4.1}, {0.01, 3.8, 4.1}, {0.05, 2.7, 2}, {0.1, 2, 1.5},
	} {
		for seed := range uint64(4) {
			used := func(qp verbs.QPOptions) float64 {
				n, traffic := equalPaths(t, 1+seed, 4, wirePaths, wireSourcePorts, qp)
				for i := range 3 {
					if err := n.Impair(1, fmt.Sprintf("tor0-path%d", i+2), Both, Impairment{Loss: test.loss}); err != nil {
						t.Fatal(err)
					}
				}
				n.Run(300 * Millisecond)
				defer noError(t, traffic)
				return goodput(n, traffic, 600*Millisecond) / (payloadShare * gbps)
			}
			intolerant := wired
			intolerant.MP.LossTolerance = 0
			got, before := used(wired), used(intolerant)
			t.Logf("loss %.3f: %.2f paths, %.2f without tolerance", test.loss, got, before)
			if got < test.least || before >= test.before {
				t.Errorf("loss %.3f: %.2f paths, %.2f without tolerance; want at least %.1f and at most %.1f", test.loss, got, before, test.least, test.before)
			}
		}
	}
}

// TestDropsAreCongestion: where no queue marks, drops are all that tells of congestion. They are not taken for the
// faults of some paths, neither in a queue that all virtual paths have in common nor in queues of their own.
func TestDropsAreCongestion(t *testing.T) {
	onlyWithoutDetector(t)
	for _, count := range []int{1, 4} {
		for seed := range uint64(4) {
			lost := func(tolerance float64) (part, got float64) {
				qp := wired
				qp.MP.LossTolerance = tolerance
				n := newNetwork(t, paths(count, gbps, 8*gbps), Config{
					Seed: 1 + seed, Paths: wirePaths, SourcePorts: wireSourcePorts, Switch: SwitchConfig{Buffer: 256 << 10},
				})
				traffic := stream(t, n, qp)
				n.Run(100 * Millisecond)
				got = goodput(n, traffic, 400*Millisecond) / (payloadShare * float64(count) * gbps)
				c := traffic.senderCounters()
				noError(t, traffic)
				return float64(c.Lost) / float64(c.PacketsSent), got
			}
			part, got := lost(wired.MP.LossTolerance)
			before, gotBefore := lost(0)
			t.Logf("%d paths: %.4f lost, goodput %.2f; without tolerance %.4f, %.2f", count, part, got, before, gotBefore)
			if part > 1.5*before || got < 0.85 {
				t.Errorf("%d paths: %.4f lost, goodput %.2f; without tolerance %.4f, %.2f", count, part, got, before, gotBefore)
			}
		}
	}
}
