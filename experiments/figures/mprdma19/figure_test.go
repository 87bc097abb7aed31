package mprdma19

import (
	"context"
	"testing"

	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/table"
)

// TestQuick checks the direction and the rough size of what the figure shows.
func TestQuick(t *testing.T) {
	o := figure.Options{Quick: true, Seed: 1}
	size := scaleOf(o)
	s, err := measure(t.Context(), o, size)
	if err != nil {
		t.Fatal(err)
	}
	at := func(m method, message int, share float64, limit int) float64 {
		return s.goodput(setting{m, message, share, limit})
	}
	for _, c := range []struct {
		name      string
		got       float64
		low, high float64
	}{
		{"DCQCN, Gb/s", s.baseline(), 14, 28},
		{"MP-RDMA without synchronise, Gb/s", at(multiPath, smallMessage, 0, noCap), 24, 29},
		{"512 KB, 100 % to 0 %", at(multiPath, largeMessage, 1, noCap) / at(multiPath, largeMessage, 0, noCap), 0.9, 1.05},
		{"512 KB, stop-and-wait, 100 % to 0 %", at(stopAndWait, largeMessage, 1, noCap) / at(stopAndWait, largeMessage, 0, noCap), 0.85, 1.02},
		{"32 KB, 80 % to 0 %, bounded window", at(multiPath, smallMessage, 0.8, bandwidthDelay) / at(multiPath, smallMessage, 0, bandwidthDelay), 0.65, 0.85},
		{"32 KB, 60 % to 0 %, bounded window", at(multiPath, smallMessage, 0.6, bandwidthDelay) / at(multiPath, smallMessage, 0, bandwidthDelay), 0.75, 0.95},
		{"32 KB, stop-and-wait, 100 % to 0 %", at(stopAndWait, smallMessage, 1, noCap) / at(stopAndWait, smallMessage, 0, noCap), 0.35, 0.6},
		{"32 KB, stop-and-wait to MP-RDMA, 100 %", at(stopAndWait, smallMessage, 1, noCap) / at(multiPath, smallMessage, 1, noCap), 0.35, 0.65},
		{"512 KB, Δt in round trips", s.delay(setting{multiPath, largeMessage, 1, noCap}), 0.4, 0.8},
		{"NAKs per operation with a bounded window", s.naksPerOperation(setting{multiPath, smallMessage, 0.8, bandwidthDelay}), 0, 0.01},
	} {
		if c.got < c.low || c.got > c.high {
			t.Errorf("%s: %.3f, want %v to %v", c.name, c.got, c.low, c.high)
		}
	}
	outcome := s.outcome(size)
	if n := outcome.Table.Count(table.Unmeasured); n > 0 {
		t.Errorf("%d rows have no measured number", n)
	}
	if err := figure.Write(t.TempDir(), outcome); err != nil {
		t.Error(err)
	}
}

// TestSameSeedSameResult: a run is a function of its setting and seed.
func TestSameSeedSameResult(t *testing.T) {
	p := setting{multiPath, smallMessage, 0.8, noCap}
	e := scaleOf(figure.Options{Quick: true}).multi
	first, err := simulate(context.Background(), p, e, 7)
	if err != nil {
		t.Fatal(err)
	}
	second, err := simulate(context.Background(), p, e, 7)
	if err != nil {
		t.Fatal(err)
	}
	if first != second {
		t.Errorf("%+v, then %+v", first, second)
	}
}

// TestCancel: a figure that nobody waits for stops.
func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Figure().Run(ctx, figure.Options{Quick: true}); err == nil {
		t.Error("ran to its end")
	}
}
