package datapartition

import (
	"math"
	"testing"

	"github.com/braid-rdma/braid/experiments/experiment"
	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/sim"
)

// smallScenario is a shorter transfer.
const smallScenario = `
topology: {kind: datapartition1}
fabric: {mtu: 1024}
transports:
  background: {kind: rc}
  partition: {kind: rc}
workload:
  - {kind: background, count: 1, transport: background}
  - {kind: pairs, pairs: [[0, 19]], bytes: 1MiB, start: 500us, transport: partition}
`

// simulate runs a setting for a time and returns the measures: ms for 10 MiB and the share that was done.
func simulate(t *testing.T, p setting, limit sim.Time) (ms, done float64) {
	t.Helper()
	c := p.run()
	c.For, c.Seeds = limit, 1
	e := experiment.Experiment{Name: "small", Scenario: []byte(smallScenario), Cases: []experiment.Case{c}, Measures: measures}
	out, err := e.Run(t.Context(), figure.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return out.Data[0].Rows[0][1], out.Data[0].Rows[0][2]
}

// TestEmptyNetwork: in an empty network the transfer takes what arithmetic says. A chunk of Algorithm 1 waits for the
// acknowledgement of the one before it.
func TestEmptyNetwork(t *testing.T) {
	const rtt = 8.9e-3             // ms: eight crossings of 1 µs and a packet's transmissions
	const packet = 1118 * 8 / 40e6 // ms: 1024 B with headers and framing
	for _, c := range []struct {
		name string
		p    setting
		want float64 // ms for 10 MiB
	}{
		{"undivided", setting{qps: 1}, 10240 * packet},
		{"one QP, chunks of 4K", setting{qps: 1, chunk: 4 << 10, depth: 1}, 2560 * (rtt + 3*packet)},
		{"two QPs, chunks of 4K", setting{qps: 2, chunk: 4 << 10, depth: 1}, 1280 * (rtt + 3*packet)},
		{"two in flight", setting{qps: 1, chunk: 4 << 10, depth: 2}, 1280 * (rtt + 3*packet)},
		{"many QPs fill the link", setting{qps: 16, chunk: 32 << 10, depth: 1}, 10240 * packet},
	} {
		if ms, done := simulate(t, c.p, 3*sim.Millisecond); done != 1 || math.Abs(ms/c.want-1) > 0.12 {
			t.Errorf("%s: %.3f ms for 10 MiB, %.0f %% done, want %.3f ms", c.name, ms, 100*done, c.want)
		}
	}
}

// TestUnfinished: a transfer that the limit cuts off is judged by its rate.
func TestUnfinished(t *testing.T) {
	p := setting{qps: 1, chunk: 4 << 10, depth: 1}
	whole, all := simulate(t, p, 10*sim.Millisecond)
	part, some := simulate(t, p, sim.Millisecond/2)
	if all != 1 || some > 0.5 {
		t.Errorf("done %v and %v, want all and less than a half", all, some)
	}
	if math.Abs(part/whole-1) > 0.05 {
		t.Errorf("judged by its rate %v ms, in truth %v ms", part, whole)
	}
}
