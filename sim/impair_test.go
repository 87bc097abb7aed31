package sim

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/braid-rdma/braid/sim/workload"
)

// shower sends many packets over one impaired link and returns what arrived and
// what the link counted.
func shower(t *testing.T, packets int, i Impairment, length int) (arrived uint64, l LinkResult) {
	t.Helper()
	n := newNetwork(t, star(2, 100*gbps), Config{Seed: 9})
	impair(t, n, 0, "ha-sw", Forth, i)
	n.Run(1)
	for range packets {
		injectData(n, 0, 1, 100, 3, 0, length)
	}
	n.Run(100 * Millisecond)
	if err := n.AuditEnd(); err != nil {
		t.Error(err)
	}
	return n.hosts[1].unknown + n.hosts[1].corrupt, n.Link(0)
}

// near says whether a count is what a probability gives, within four deviations.
func near(got uint64, trials int, p float64) bool {
	want := float64(trials) * p
	return math.Abs(float64(got)-want) <= 4*math.Sqrt(want*(1-p))+1e-9
}

// TestImpairmentsDoWhatTheySay checks the rate of each kind.
func TestImpairmentsDoWhatTheySay(t *testing.T) {
	onlyWithoutDetector(t)
	const packets = 40_000
	t.Run("loss", func(t *testing.T) {
		for _, p := range []float64{0.001, 0.05, 0.5, 1} {
			arrived, l := shower(t, packets, Impairment{Loss: p}, 0)
			if !near(l.Lost, packets, p) || arrived+l.Lost != packets {
				t.Errorf("loss %v: %d lost and %d arrived", p, l.Lost, arrived)
			}
		}
	})
	t.Run("down", func(t *testing.T) {
		if arrived, l := shower(t, packets, Impairment{Down: true}, 0); arrived != 0 || l.Lost != packets {
			t.Errorf("%d arrived, %d lost", arrived, l.Lost)
		}
	})
	t.Run("every n-th", func(t *testing.T) {
		if _, l := shower(t, packets, Impairment{LossEvery: 256}, 0); l.Lost != packets/256 {
			t.Errorf("%d lost", l.Lost)
		}
	})
	t.Run("corrupt", func(t *testing.T) {
		if arrived, l := shower(t, packets, Impairment{Corrupt: 0.1}, 0); !near(l.Damaged, packets, 0.1) || arrived != packets {
			t.Errorf("%d damaged, %d arrived", l.Damaged, arrived)
		}
	})
	t.Run("duplicate", func(t *testing.T) {
		if arrived, l := shower(t, packets, Impairment{Duplicate: 0.3}, 0); !near(l.Doubled, packets, 0.3) || arrived != packets+l.Doubled {
			t.Errorf("%d doubled, %d arrived", l.Doubled, arrived)
		}
	})
	t.Run("burst", func(t *testing.T) {
		// Of a cycle of 1/enter good and 1/leave bad packets the bad ones are lost.
		_, l := shower(t, packets, Impairment{Burst: Burst{Enter: 0.01, Leave: 0.25}}, 0)
		if share := float64(l.Lost) / packets; share < 0.03 || share > 0.047 {
			t.Errorf("%.4f lost, want 0.0385", share)
		}
	})
	t.Run("path MTU black hole", func(t *testing.T) {
		// The packets have 100 bytes on the link, 62 of them behind the Ethernet header.
		for most, want := range map[int]uint64{61: packets, 62: 0} {
			if arrived, l := shower(t, packets, Impairment{MaxPacket: most}, 0); l.Lost != want || arrived != packets-want {
				t.Errorf("up to %d bytes: %d lost, want %d", most, l.Lost, want)
			}
		}
	})
	t.Run("only data", func(t *testing.T) {
		for length, want := range map[int]uint64{0: 0, 50: packets} {
			if _, l := shower(t, packets, Impairment{Loss: 1, Data: true}, length); l.Lost != want {
				t.Errorf("of packets of %d bytes %d are lost, want %d", length, l.Lost, want)
			}
			if _, l := shower(t, packets, Impairment{Loss: 1, Acks: true}, length); l.Lost != packets-want {
				t.Errorf("of packets of %d bytes %d are lost, want %d", length, l.Lost, packets-want)
			}
		}
	})
}

// TestDelayRateAndJitter checks what a fault does to the time of a packet.
func TestDelayRateAndJitter(t *testing.T) {
	times := func(i Impairment, packets int) []Time {
		n := newNetwork(t, star(2, 10*gbps), Config{Seed: 9})
		impair(t, n, 0, "ha-sw", Forth, i)
		n.Run(1)
		start := n.Now()
		for range packets {
			inject(n, 0, 1, 1250, 3, 0)
		}
		at := arrivals(n, 1)
		for j := range at {
			at[j] -= start
		}
		return at
	}
	healthy := 4 * Microsecond
	if got := times(Impairment{}, 1); got[0] != healthy {
		t.Errorf("healthy: %v", got[0])
	}
	if got := times(Impairment{Delay: 7 * Microsecond}, 1); got[0] != healthy+7*Microsecond {
		t.Errorf("delayed: %v", got[0])
	}
	if got := times(Impairment{Rate: 1 * gbps}, 1); got[0] != healthy+9*Microsecond {
		t.Errorf("at a tenth of the rate: %v", got[0])
	}
	got := times(Impairment{Jitter: 20 * Microsecond}, 1000)
	if len(got) != 1000 || !slices.IsSorted(got) {
		t.Fatal("packets are missing")
	}
	if last := got[999]; last < healthy+999*Microsecond || last > healthy+1040*Microsecond {
		t.Errorf("the last packet arrived at %v", last)
	}
}

// TestJitterReorders checks that jitter makes packets overtake each other, which
// a constant delay does not.
func TestJitterReorders(t *testing.T) {
	outOfOrder := func(i Impairment) uint64 {
		n := newNetwork(t, star(2, 10*gbps), Config{Seed: 9})
		impair(t, n, 0, "ha-sw", Forth, i)
		traffic := carry(t, n, wired, workload.Flow{Src: 0, Dst: 1, Bytes: 1_000_000})
		finish(t, n, traffic)
		return traffic.Result(0).OutOfOrder
	}
	if straight, shaken := outOfOrder(Impairment{Delay: 10 * Microsecond}), outOfOrder(Impairment{Jitter: 30 * Microsecond}); straight != 0 || shaken == 0 {
		t.Errorf("out of order: %d with delay, %d with jitter", straight, shaken)
	}
}

// TestOneWayFaults checks that a fault of one direction spares the other, and
// that healing ends it.
func TestOneWayFaults(t *testing.T) {
	for direction, want := range map[Direction][2]bool{Forth: {true, false}, Back: {false, true}, Both: {true, true}} {
		n := newNetwork(t, star(2, 10*gbps), Config{Seed: 9})
		impair(t, n, 0, "ha-sw", direction, Impairment{Down: true})
		impair(t, n, Millisecond, "ha-sw", direction, Impairment{})
		n.Run(1)
		for range 10 {
			inject(n, 0, 1, 100, 3, 0)
			inject(n, 1, 0, 100, 3, 0)
		}
		n.Run(2 * Millisecond)
		if lost := [2]bool{n.Link(0).Lost == 10, n.Link(1).Lost == 10}; lost != want {
			t.Errorf("direction %d: lost %v, want %v", direction, lost, want)
		}
		inject(n, 0, 1, 100, 3, 0)
		inject(n, 1, 0, 100, 3, 0)
		before := n.hosts[0].unknown + n.hosts[1].unknown
		n.Run(3 * Millisecond)
		if got := n.hosts[0].unknown + n.hosts[1].unknown - before; got != 2 {
			t.Errorf("direction %d: after healing %d of 2 packets arrive", direction, got)
		}
	}
}

// TestSecondFaultDrawsAnew checks that a link which fails twice does not lose the
// same packets twice.
func TestSecondFaultDrawsAnew(t *testing.T) {
	n := newNetwork(t, star(2, 10*gbps), Config{Seed: 9})
	impair(t, n, 1, "ha-sw", Forth, Impairment{Loss: 0.5})
	impair(t, n, Millisecond, "ha-sw", Forth, Impairment{Loss: 0.5})
	var lost [2][]bool
	for round := range 2 {
		n.Run(Time(round)*Millisecond + 2)
		for range 100 {
			before := n.Link(0).Lost
			inject(n, 0, 1, 100, 3, 0)
			n.Run(n.Now() + 100*Nanosecond)
			lost[round] = append(lost[round], n.Link(0).Lost > before)
		}
	}
	if slices.Equal(lost[0], lost[1]) {
		t.Error("the second fault loses the same packets as the first")
	}
}

func TestImpairRefuses(t *testing.T) {
	n := newNetwork(t, star(2, 10*gbps), Config{})
	tests := map[string]struct {
		link string
		i    Impairment
	}{
		"unknown link":  {"hx-sw", Impairment{}},
		"reversed name": {"sw-ha", Impairment{}},
		"probability":   {"ha-sw", Impairment{Loss: 1.5}},
		"not a number":  {"ha-sw", Impairment{Corrupt: math.NaN()}},
		"negative":      {"ha-sw", Impairment{Delay: -1}},
		"negative size": {"ha-sw", Impairment{MaxPacket: -1}},
	}
	for name, test := range tests {
		if err := n.Impair(0, test.link, Both, test.i); !errors.Is(err, ErrConfig) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
