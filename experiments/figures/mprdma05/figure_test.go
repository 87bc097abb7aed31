package mprdma05

import (
	"context"
	"testing"

	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/fluid"
)

// TestQuick checks that the four ratios come together, where the model says. In so
// short a time chance still keeps them a little apart.
func TestQuick(t *testing.T) {
	out, err := Figure().Run(context.Background(), figure.Options{Quick: true, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + out.Table.Text())
	for i, want := range []struct{ low, high float64 }{
		{0, 0.3},
		{0.9, 1.1},
		{0.9, 1.1},
		{0.3, 2}, // the slow path is pruned before it is marked
	} {
		if row := out.Table[i]; row.Measured < want.low || row.Measured > want.high {
			t.Errorf("%s: %v, want %v to %v", row.Quantity, row.Measured, want.low, want.high)
		}
	}
	for _, p := range out.Plots {
		if _, err := p.Chart.SVG(); err != nil {
			t.Errorf("plot %s: %v", p.Name, err)
		}
	}
}

// TestPathsAreFull checks the scenario: the model assumes that every path is a
// bottleneck, and that thresholds are packets of this size.
func TestPathsAreFull(t *testing.T) {
	e := extentOf(true)
	e.duration = e.warmUp + 2*e.interval
	trace, err := simulate(context.Background(), 1, alone, e)
	if err != nil {
		t.Fatal(err)
	}
	if trace.packetBytes != mtu+linkHeaders {
		t.Errorf("packets have %v bytes on the link, the thresholds assume %d", trace.packetBytes, mtu+linkHeaders)
	}
	for p, u := range trace.utilisation {
		if u < 0.99 {
			t.Errorf("the path of %s is used to %v only", pathNames[p], u)
		}
	}
	if f := fluid.MarkingAt(trace.window); f < 0.03 || f > 0.045 {
		t.Errorf("a window of %v has a fixed point at %v, the model's is 0.036", trace.window, f)
	}
}
