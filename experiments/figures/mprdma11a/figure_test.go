package mprdma11a

import (
	"math"
	"testing"

	"github.com/braid-rdma/braid/experiments/figures/testbed/testbedtest"
)

// MP-RDMA keeps most of its goodput at every loss rate; DCQCN keeps less than
// half at 0.5 % and a quarter, which is the good path, at 10 %.
func TestFigure(t *testing.T) {
	o := testbedtest.Quick(t, Figure())
	testbedtest.Want(t, o, "goodput of MP-RDMA at 0.5 %", 31, 37)
	testbedtest.Want(t, o, "goodput of MP-RDMA at 10 %", 33, 37)
	testbedtest.Want(t, o, "goodput of MP-RDMA with braid's options at 0.5 %", 33, 37)
	testbedtest.Want(t, o, "goodput of MP-RDMA with braid's options at 10 %", 28, 37)
	testbedtest.Want(t, o, "average goodput of DCQCN at 0.5 %", 9.5, 22)
	testbedtest.Want(t, o, "goodput of DCQCN over MP-RDMA at 10 %", 0.22, 0.32)
}

func TestAverageIsWeighted(t *testing.T) {
	m := means{
		{dcqcn, 0, defaultAckTimeout}:    36,
		{dcqcn, 0.01, defaultAckTimeout}: 4,
	}
	if got := m.average(0.01, defaultAckTimeout); got != 12 {
		t.Errorf("a quarter of 36 and three quarters of 4 are %v, want 12", got)
	}
	if got := m.average(0, defaultAckTimeout); got != 36 {
		t.Errorf("without loss all paths are good: %v", got)
	}
}

func TestGatherAveragesSeeds(t *testing.T) {
	p := point{paper, 0.05, defaultAckTimeout}
	m := gather([]testCase{{point: p, seed: 1}, {point: p, seed: 2}}, []float64{30, 34})
	if math.Abs(m.of(paper, 0.05)-32) > 1e-9 {
		t.Errorf("mean %v, want 32", m.of(paper, 0.05))
	}
}
