package mprdma20

import (
	"testing"

	"github.com/braid-rdma/braid/experiments/figures/testbed/testbedtest"
	"github.com/braid-rdma/braid/sim"
	"github.com/braid-rdma/braid/transport"
)

// Flows that share a NIC take turns, so no pause is as long as 2 µs; within 1 µs every packet is a flowlet.
func TestFigure(t *testing.T) {
	o := testbedtest.Quick(t, Figure())
	testbedtest.Want(t, o, "shortest flowlet of RDMA, inactive for 2 µs", 1, 1)
	testbedtest.Want(t, o, "mean flowlet of RDMA, inactive for 1 µs", 1, 2)
}

// A pause ends the flowlet of each interval that it exceeds, and of no longer one.
func TestFlowlets(t *testing.T) {
	f := &flowlets{flows: map[key]*packets{}}
	tracer := f.of("h0")
	for _, at := range []transport.Time{1000, 2500, 5000, 9000} { // pauses of 1.5, 2.5 and 4 µs
		tracer.Trace(at, transport.TraceEvent{Kind: transport.TraceSent, QPN: 1, Bytes: 100})
		tracer.Trace(at, transport.TraceEvent{Kind: transport.TraceReceived, QPN: 1, Bytes: 100})
	}
	want := map[sim.Time][2]float64{sim.Microsecond: {100, 0.25}, two: {400. / 3, 0.25}, 5 * sim.Microsecond: {400, 1}}
	for i, interval := range intervals {
		if w, ok := want[interval]; ok && (f.mean(i) != w[0] || f.leastShare(i) != w[1]) {
			t.Errorf("%v: mean %v and least %v, want %v", interval, f.mean(i), f.leastShare(i), w)
		}
	}
}
