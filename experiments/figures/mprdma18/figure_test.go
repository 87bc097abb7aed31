package mprdma18

import (
	"testing"

	"github.com/braid-rdma/braid/experiments/figure"
)

// Without delay most synchronise messages come too early, with α=1 none.
func TestFigureQuick(t *testing.T) {
	out, err := Figure().Run(t.Context(), figure.Options{Quick: true, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%s", out.Table.Text())
	for _, row := range out.Data[0].Rows {
		alpha, message, synchronise, early := row[0], row[1], row[3], row[4]
		if synchronise < 5 {
			t.Errorf("α=%g, %g B: only %g synchronise messages", alpha, message, synchronise)
		}
		switch {
		case alpha == 0 && early < synchronise/3:
			t.Errorf("α=0, %g B: %g of %g came too early, want most", message, early, synchronise)
		case alpha == paperAlpha && early > synchronise/100:
			t.Errorf("α=1, %g B: %g of %g came too early, want none", message, early, synchronise)
		}
	}
	for _, p := range out.Plots {
		if _, err := p.Chart.SVG(); err != nil {
			t.Errorf("plot %s: %v", p.Name, err)
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
