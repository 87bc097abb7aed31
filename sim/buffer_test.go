package sim

import (
	"errors"
	"math"
	"slices"
	"testing"
)

// shareNetwork is a switch with three hosts that has 100,000 bytes to share beside 1000
// of reserve and 10,000 of headroom per port, for priority 3 alone. Host 2 is stopped, so
// that packets to it stay.
func shareNetwork(t *testing.T, pfc PFC) *Network {
	t.Helper()
	pfc.On, pfc.Lossless, pfc.Headroom = true, 1<<3, 10_000
	if pfc.Reserve == 0 {
		pfc.Reserve = 1000
	}
	n := newNetwork(t, star(3, 10*gbps), Config{Switch: SwitchConfig{Buffer: 100_000 + 3*(10_000+pfc.Reserve), PFC: pfc}})
	n.switches[3].ports[2].paused = 0xff
	return n
}

// heldAtXOFF runs a network and returns how many bytes of priority 3 each port has in the
// buffer when it is stopped for the first time.
func heldAtXOFF(n *Network) (held []int32) {
	s := n.switches[3]
	held = make([]int32, len(s.ins))
	// XOFF is said again and again, so something is always left to happen.
	for end := n.Now() + Millisecond; n.Now() < end && n.step(); {
		for i, in := range s.ins {
			if in.stopped != 0 && held[i] == 0 {
				held[i] = in.buffered[3]
			}
		}
	}
	return held
}

// TestAlphaIsTheShare checks after how many packets of 1000 bytes a port is stopped. Alone
// it has k packets, one of which is its reserve, so the threshold is
// 1000 + alpha (100,000 - 1000 (k - 1)).
func TestAlphaIsTheShare(t *testing.T) {
	for _, test := range []struct {
		name  string
		alpha float64
		two   bool
		want  []int32
	}{
		// k = 21: 1000 + 80,000/4 = 21,000 is reached and not exceeded. The 22nd exceeds it.
		{"1/4", 1.0 / 4, false, []int32{22_000, 0, 0}},
		// k = 10: 1000 + 91,000/8 = 12,375; k = 12: 12,125; the 13th exceeds it.
		{"default", 0, false, []int32{13_000, 0, 0}},
		// k = 6: 1000 + 95,000/16 = 6937; the 7th exceeds it.
		{"1/16", 1.0 / 16, false, []int32{7_000, 0, 0}},
		// k = 2: 1000 + 99,000/64 = 2546; the 3rd exceeds it.
		{"1/64", 1.0 / 64, false, []int32{3_000, 0, 0}},
		// k = 96: 1000 + 16 x 5000 = 81,000 is less than it has; k = 95: 97,000.
		{"16", 16, false, []int32{96_000, 0, 0}},
		// Two ports with 17 each leave 68,000: the first may have 18,000 and takes them;
		// that leaves 67,000, of which it may have 17,750, and the second too.
		{"1/4, two ports", 1.0 / 4, true, []int32{18_000, 18_000, 0}},
	} {
		n := shareNetwork(t, PFC{Alpha: test.alpha})
		for range 100 {
			inject(n, 0, 2, 1000, 3, 0)
			if test.two {
				inject(n, 1, 2, 1000, 3, 0)
			}
		}
		if got := heldAtXOFF(n); !slices.Equal(got, test.want) {
			t.Errorf("alpha %s: stopped with %v bytes, want %v", test.name, got, test.want)
		}
	}
}

// TestXONComesBelow lets a port drain that was stopped as above with alpha 1/4. The
// headroom empties first; then 21,000 bytes have to fall to 3000 below a threshold that
// rises by a quarter of what leaves: 21,000 - m <= 21,000 + m/4 - 3000 means m >= 2400,
// which is three packets. With 10,000 it is m >= 8000.
func TestXONComesBelow(t *testing.T) {
	for hysteresis, want := range map[int]int32{0: 21_000 - 3000, 10_000: 21_000 - 8000} {
		if hysteresis == 0 && defaultHysteresis > 3125 {
			t.Fatal("the third packet is not enough for the default")
		}
		n := shareNetwork(t, PFC{Alpha: 1.0 / 4, Hysteresis: hysteresis})
		for range 30 {
			inject(n, 0, 2, 1000, 3, 0)
		}
		s := n.switches[3]
		n.Run(100 * Microsecond)
		if s.ins[0].stopped == 0 || s.ports[0].guard.over[3] == 0 {
			t.Fatal("host 0 was not stopped, or nothing is in the headroom")
		}
		s.ports[2].resume(3)
		for s.ins[0].stopped != 0 && n.step() {
			if err := n.Audit(); err != nil {
				t.Fatal(err)
			}
		}
		if got := s.ins[0].buffered[3]; got != want || s.ports[0].guard.over[3] != 0 {
			t.Errorf("hysteresis %d: XON with %d bytes, %d of them in the headroom; want %d and none", hysteresis, got, s.ports[0].guard.over[3], want)
		}
	}
}

// TestReserveIsKept fills the shared part with a lossy priority, which then drops; a
// lossless one still has its reserve before it is stopped.
func TestReserveIsKept(t *testing.T) {
	for reserve, want := range map[int]int32{1: 1000, 1000: 2000, 2500: 3000} {
		n := shareNetwork(t, PFC{Reserve: reserve})
		for range 103 {
			inject(n, 1, 2, 1000, 1, 0)
		}
		n.Run(Millisecond)
		if n.switches[3].shared != 100_000 || n.Link(5).Dropped != 3 {
			t.Fatalf("%d bytes are shared and %d packets dropped, want 100,000 and 3", n.switches[3].shared, n.Link(5).Dropped)
		}
		for range 5 {
			inject(n, 0, 2, 1000, 3, 0)
		}
		if got := heldAtXOFF(n)[0]; got != want {
			t.Errorf("reserve %d: stopped with %d bytes, want %d", reserve, got, want)
		}
	}
}

func TestPFCIsChecked(t *testing.T) {
	g, err := star(2, 10*gbps).Build()
	if err != nil {
		t.Fatal(err)
	}
	for _, pfc := range []PFC{
		{Quanta: -2},
		{Quanta: 65536},
		{Alpha: -1},
		{Alpha: 65},
		{Alpha: math.NaN()},
		{Headroom: -1},
		{Reserve: 1 << 30},
		{Reaction: -1},
		{Watchdog: -1},
	} {
		pfc.On = true
		if _, err := New(g, Config{Switch: SwitchConfig{PFC: pfc}}); !errors.Is(err, ErrConfig) {
			t.Errorf("%+v: %v", pfc, err)
		}
	}
}
