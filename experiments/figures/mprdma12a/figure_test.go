package mprdma12a

import (
	"testing"

	"github.com/braid-rdma/braid/experiments/figures/testbed/testbedtest"
)

// MP-RDMA uses all paths and shares them; DCQCN loses what ECMP leaves idle.
func TestFigure(t *testing.T) {
	o := testbedtest.Quick(t, Figure())
	testbedtest.Want(t, o, "goodput of MP-RDMA", 125, 145)
	testbedtest.Want(t, o, "goodput of DCQCN", 70, 120)
	testbedtest.Want(t, o, "gain over DCQCN", 10, 90)
	testbedtest.Want(t, o, "least goodput of a connection", 18, 30)
}

// The picture shows a run as the paper's: one that uses three paths.
func TestTypicalRun(t *testing.T) {
	runs := []result{{used: 4}, {used: 3, goodputs: []float64{1}}, {used: 3}}
	if got := typical(runs); got.used != 3 || len(got.goodputs) != 1 {
		t.Errorf("chose %+v, want the first with three paths", got)
	}
	if got := typical(runs[:1]); got.used != 4 {
		t.Errorf("without such a run chose %+v, want the first", got)
	}
}

// The runs weigh as much as the paths that they use are likely.
func TestExpectedWeighsByChance(t *testing.T) {
	runs := []result{
		{used: 3, goodputs: []float64{100}},
		{used: 4, goodputs: []float64{140}},
		{used: 4, goodputs: []float64{142}},
	}
	if got, want := expected(runs), (600*100+240*141)/840.0; got != want {
		t.Errorf("expected goodput %v, want %v", got, want)
	}
}
