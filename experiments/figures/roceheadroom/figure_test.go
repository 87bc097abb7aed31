package roceheadroom

import (
	"fmt"
	"testing"

	"github.com/braid-rdma/braid/experiments/figures/testbed/testbedtest"
)

// The formula is enough at each rate and distance, and nearly used up; three quarters of it are not enough.
func TestFigure(t *testing.T) {
	o := testbedtest.Quick(t, Figure())
	for _, rate := range gigabits {
		for _, distance := range metres {
			where := fmt.Sprintf("%d Gb/s, %v m", rate, distance)
			testbedtest.Want(t, o, "headroom used, "+where, 0.8, 1)
			testbedtest.Want(t, o, "packets dropped with the formula, "+where, 0, 0)
			testbedtest.Want(t, o, "packets dropped with half of it, "+where, 10, 200)
		}
	}
	testbedtest.Want(t, o, "headroom of a leaf with 2 lossless classes", 0.2, 0.35)
	testbedtest.Want(t, o, "headroom of a leaf with 8 lossless classes", 1, 1.4)
	for _, d := range o.Data {
		for i, row := range d.Rows {
			// Columns: seed, bytes kept, bytes used, dropped. Every fourth run keeps the formula.
			if whole := i%len(shares) == 0; whole != (row[3] == 0) || row[2] > row[1] {
				t.Errorf("%s: %v of a thousand dropped, %v of %v bytes used", d.Labels[i], row[3], row[2], row[1])
			}
		}
	}
}
