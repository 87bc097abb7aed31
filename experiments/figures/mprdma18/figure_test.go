package mprdma18

import (
	"strings"
	"testing"

	"github.com/braid-rdma/braid/experiments/figures/testbed/testbedtest"
)

// Without delay many synchronise messages come too early, with α=1 none.
func TestFigureQuick(t *testing.T) {
	out := testbedtest.Quick(t, Figure())
	for i, row := range out.Data[0].Rows {
		name, synchronise, early := out.Data[0].Labels[i], row[1], row[2]
		if synchronise < 5 {
			t.Errorf("%s: only %g synchronise messages", name, synchronise)
		}
		switch {
		case strings.HasPrefix(name, "α=0,") && early < synchronise/5:
			t.Errorf("%s: %g of %g came too early, want many", name, early, synchronise)
		case strings.HasPrefix(name, "α=1,") && early > synchronise/100:
			t.Errorf("%s: %g of %g came too early, want none", name, early, synchronise)
		}
	}
}

func TestSchedule(t *testing.T) {
	s := schedule{share: 0.4} // messages 0, 2, 5, 7, 10, ...
	for _, c := range []struct{ from, want int64 }{{0, 0}, {1, 2}, {2, 2}, {3, 5}, {6, 7}, {8, 10}} {
		if got := s.nextFrom(c.from); got != c.want {
			t.Errorf("from %d on, message %d synchronises, want %d", c.from, got, c.want)
		}
	}
	if got := s.before(10); got != 4 {
		t.Errorf("%d of the first ten, want 4", got)
	}
}
