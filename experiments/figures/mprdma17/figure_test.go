package mprdma17

import (
	"slices"
	"testing"

	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/figures/testbed/testbedtest"
)

// However many senders there are, the receiver gets nearly all that its link
// carries. The quick version is too short for DCQCN, which starts with a
// collision, so only the direction is checked there.
func TestFigure(t *testing.T) {
	o := testbedtest.Quick(t, Figure())
	testbedtest.Want(t, o, "lowest goodput of MP-RDMA", 31, 37)
	testbedtest.Want(t, o, "highest goodput of MP-RDMA", 34, 37)
	testbedtest.Want(t, o, "lowest over highest", 0.9, 1)
	testbedtest.Want(t, o, "gain over DCQCN", -2, 200)
}

// The same options give the same numbers, with any number of workers.
func TestDeterministic(t *testing.T) {
	var tables [][]byte
	for _, workers := range []int{1, 2} {
		o, err := Figure().Run(t.Context(), figure.Options{Quick: true, Seed: 7, Workers: workers})
		if err != nil {
			t.Fatal(err)
		}
		text, err := o.Table.CSV()
		if err != nil {
			t.Fatal(err)
		}
		tables = append(tables, text)
	}
	if !slices.Equal(tables[0], tables[1]) {
		t.Errorf("two runs differ:\n%s\n%s", tables[0], tables[1])
	}
}
