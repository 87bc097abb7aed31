package mprdma12a

import (
	"math"
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

	// The runs weigh as much as the paths that they use are likely.
	chances := map[float64]float64{1: 4, 2: 180, 3: 600, 4: 240}
	sums, runs := map[float64]float64{}, map[float64]float64{}
	for i, row := range o.Data[0].Rows {
		if o.Data[0].Labels[i] == dcqcn {
			sums[row[2]] += row[1]
			runs[row[2]]++
		}
	}
	sum, weight := 0.0, 0.0
	for paths, n := range runs {
		sum += chances[paths] * sums[paths] / n
		weight += chances[paths]
	}
	if got := o.Table[1].Measured; math.Abs(got-sum/weight) > 1e-9 || len(runs) < 2 {
		t.Errorf("DCQCN has %v, want %v of runs by paths %v", got, sum/weight, runs)
	}
}
