package outoforder

import (
	"math"
	"slices"
	"testing"

	"github.com/braid-rdma/braid/sim"
)

func TestQuantile(t *testing.T) {
	m := &Measurement{Degrees: []uint64{990, 0, 8, 1, 0, 1}}
	for _, c := range []struct {
		fraction float64
		want     int
	}{{0.5, 0}, {0.99, 0}, {0.991, 2}, {0.998, 2}, {0.999, 3}, {1, 5}} {
		if got := m.Quantile(c.fraction); got != c.want {
			t.Errorf("quantile %v is %d, want %d", c.fraction, got, c.want)
		}
	}
	if got := (&Measurement{}).Tail(); got != 0 {
		t.Errorf("nothing measured: tail %d", got)
	}
}

func TestSinceAndPool(t *testing.T) {
	before := &Measurement{Degrees: []uint64{5, 1}, MTU: 500, Packets: 6}
	after := &Measurement{Degrees: []uint64{9, 1, 0, 2}, MTU: 500, Packets: 12, Retransmitted: 1}
	d := after.since(before)
	if !slices.Equal(d.Degrees, []uint64{4, 0, 0, 2}) || d.MTU != 500 || d.Packets != 6 || d.Retransmitted != 1 {
		t.Errorf("since: %+v", d)
	}
	d.Ideal, d.Simulated = 28e6, sim.Millisecond
	other := &Measurement{Degrees: []uint64{1}, MTU: 500, Ideal: 28e6, Simulated: sim.Millisecond}
	p := Pool([]*Measurement{other, d})
	if !slices.Equal(p.Degrees, []uint64{5, 0, 0, 2}) {
		t.Errorf("pool: %+v", p)
	}
	if got := p.Throughput(); math.Abs(got-0.5) > 1e-9 {
		t.Errorf("seven packets of 500 bytes in 2 ms at 28 Mb/s are %v of the ideal, want a half", got)
	}
}

func TestAbove(t *testing.T) {
	degrees, shares := (&Measurement{Degrees: []uint64{6, 2, 0, 1, 1}}).Above()
	if !slices.Equal(degrees, []float64{1, 3}) || !slices.Equal(shares, []float64{0.2, 0.1}) {
		t.Errorf("above %v: %v", degrees, shares)
	}
}

// §5.2.1's 5324 is what a queue of 240 KB would give, not one of 20 KB.
func TestFairDegree(t *testing.T) {
	if got := FairDegree(MisconfiguredThreshold); math.Abs(got/PublishedDegraded-1) > 0.05 {
		t.Errorf("240 KB: %v, want about %d", got, PublishedDegraded)
	}
	if got := FairDegree(20_000); got > 500 {
		t.Errorf("20 KB: %v", got)
	}
}
