package roceslowreceiver

import (
	"testing"

	"github.com/braid-rdma/braid/experiments/figures/testbed/testbedtest"
)

// Small pages make the NIC pause by thousands a second, large ones not at all; dynamic buffers keep most of it from others.
func TestFigure(t *testing.T) {
	o := testbedtest.Quick(t, Figure())
	testbedtest.Want(t, o, "pauses of the NIC, 4 KB pages, 64 MB", 5000, 30_000)
	testbedtest.Want(t, o, "pauses of the NIC, 2 MB pages, 64 MB", 0, 0)
	testbedtest.Want(t, o, "pauses of the NIC, 4 KB pages, 8 MB", 0, 0)
	testbedtest.Want(t, o, "goodput of the slow server, 2 MB pages, 64 MB to 4 KB", 2, 5)
	testbedtest.Want(t, o, "pauses of switches, dynamic to static buffers", 0, 0.4)
	testbedtest.Want(t, o, "least that a neighbour gets in 1 ms, dynamic buffers", 3.5, 4)
	testbedtest.Want(t, o, "least that a neighbour gets in 1 ms, static buffers", 0, 2)
}

// The cache covers 8 MB of small pages and 4 GB of large ones; beyond, packets miss.
func TestMisses(t *testing.T) {
	for _, test := range []struct {
		page, memory int
		want         float64
	}{
		{4 << 10, 8, 0}, {4 << 10, 16, 0.5}, {4 << 10, 32, 0.75}, {2 << 20, 4096, 0}, {2 << 20, 8192, 0.5},
	} {
		if got := missShare(test.page, test.memory); got != test.want {
			t.Errorf("pages of %d B, %d MB: %v miss, want %v", test.page, test.memory, got, test.want)
		}
	}
}
