package rocedeadlock

import (
	"strings"
	"testing"

	"github.com/braid-rdma/braid/experiments/figures/testbed/testbedtest"
)

// Flooding stops four switches for ever, also when no connection is left; without it, or without PFC, nothing stops.
func TestFigure(t *testing.T) {
	o := testbedtest.Quick(t, Figure())
	testbedtest.Want(t, o, "share of runs in deadlock, "+flooding, 1, 1)
	testbedtest.Want(t, o, "share of runs in deadlock, "+restarted, 1, 1)
	testbedtest.Want(t, o, "share of runs in deadlock, "+discarded, 0, 0)
	testbedtest.Want(t, o, "share of runs in deadlock, "+lossy, 0, 0)
	testbedtest.Want(t, o, "switches in the circle", 4, 4)
	testbedtest.Want(t, o, "least goodput, "+flooding, 0, 0)
	testbedtest.Want(t, o, "least goodput, "+restarted, 0, 0)
	testbedtest.Want(t, o, "goodput, "+discarded, 60, 115)
	testbedtest.Want(t, o, "goodput, "+lossy, 90, 115)
	if len(o.Notes) != 2 || strings.Count(o.Notes[0], "waits for") != 4 {
		t.Errorf("notes %q, want a circle of four switches in two cases", o.Notes)
	}
	for _, d := range o.Data {
		if d.Name == "runs" && (d.Labels[1] != restarted || d.Rows[1][4] != 20) {
			t.Errorf("%s: %v, want all 20 connections of the beginning to have ended", d.Labels[1], d.Rows[1])
		}
	}
}
