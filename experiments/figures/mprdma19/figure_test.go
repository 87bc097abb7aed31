package mprdma19

import (
	"testing"

	"github.com/braid-rdma/braid/experiments/figures/testbed/testbedtest"
)

// The direction and the rough size of what the figure shows.
func TestQuick(t *testing.T) {
	out := testbedtest.Quick(t, Figure())
	// at is the mean of a column over the runs of a setting.
	at := func(p setting, column int) (mean float64) {
		runs := 0.0
		for i, label := range out.Data[0].Labels {
			if label == p.name() {
				mean += out.Data[0].Rows[i][column]
				runs++
			}
		}
		return mean / runs
	}
	of := func(method string, message int, share float64) float64 {
		return at(setting{method, message, share, false}, 1)
	}
	for _, c := range []struct {
		name      string
		got       float64
		low, high float64
	}{
		{"DCQCN, Gb/s", at(dcqcn, 1), 14, 28},
		{"MP-RDMA without synchronise, Gb/s", of(multiPath, small, 0), 24, 29},
		{"512 KB, 100 % to 0 %", of(multiPath, large, 1) / of(multiPath, large, 0), 0.9, 1.05},
		{"512 KB, stop-and-wait, 100 % to 0 %", of(stopAndWait, large, 1) / of(stopAndWait, large, 0), 0.85, 1.02},
		{"32 KB, 80 % to 0 %", of(multiPath, small, 0.8) / of(multiPath, small, 0), 0.45, 0.8},
		{"32 KB, 60 % to 0 %", of(multiPath, small, 0.6) / of(multiPath, small, 0), 0.55, 0.9},
		{"32 KB, stop-and-wait, 100 % to 0 %", of(stopAndWait, small, 1) / of(stopAndWait, small, 0), 0.35, 0.6},
		{"32 KB, stop-and-wait to MP-RDMA, 100 %", of(stopAndWait, small, 1) / of(multiPath, small, 1), 0.6, 1},
		{"512 KB, Δt in round trips", at(setting{multiPath, large, 1, false}, 2), 0.6, 1},
		{"NAKs per operation", at(setting{multiPath, small, 0.8, false}, 3), 0, 0.01},
	} {
		if !(c.got >= c.low && c.got <= c.high) {
			t.Errorf("%s: %.3f, want %v to %v", c.name, c.got, c.low, c.high)
		}
	}
}
