package sim

import (
	"math"
	"slices"
	"testing"

	"github.com/braid-rdma/braid/sim/topology"
)

// TestLinkTakesItsTime checks that a packet takes exactly its bytes at the link's
// rate and the link's delay, on each link.
func TestLinkTakesItsTime(t *testing.T) {
	tests := []struct {
		rate int64
		size int32
		want Time // over two links
	}{
		{100 * gbps, 1000, 2*80*Nanosecond + 2*Microsecond},
		{100 * gbps, 1, 2*80*Picosecond + 2*Microsecond},
		{40 * gbps, 4200, 2*840*Nanosecond + 2*Microsecond},
		{10 * gbps, 84, 2*67200*Picosecond + 2*Microsecond},
		{1 * gbps, 1500, 2*12*Microsecond + 2*Microsecond},
	}
	for _, test := range tests {
		n := newNetwork(t, star(2, test.rate), Config{})
		inject(n, 0, 1, test.size, 3, 0)
		if got := arrivals(n, 1); !slices.Equal(got, []Time{test.want}) {
			t.Errorf("%d bytes at %d Gb/s arrive at %v, want %v", test.size, test.rate/gbps, got, test.want)
		}
		if err := n.AuditEnd(); err != nil {
			t.Error(err)
		}
	}
}

// TestPacketsFollowEachOther checks that packets leave back to back, keep their
// order, and that a link is never busy with two.
func TestPacketsFollowEachOther(t *testing.T) {
	n := newNetwork(t, star(2, 10*gbps), Config{})
	for range 5 {
		inject(n, 0, 1, 1250, 3, 0) // 1 µs each
	}
	var want []Time
	for i := range 5 {
		want = append(want, Time(i+1)*Microsecond+1*Microsecond+2*Microsecond)
	}
	if got := arrivals(n, 1); !slices.Equal(got, want) {
		t.Errorf("arrivals at %v, want %v", got, want)
	}
}

// TestSlowLinkIsTheBottleneck sends from a fast link to a slow one.
func TestSlowLinkIsTheBottleneck(t *testing.T) {
	g := &topology.Graph{}
	a, b := g.AddHost("a", 0), g.AddHost("b", 0)
	sw := g.AddSwitch("sw", 1)
	g.AddLink(topology.Link{A: a, B: sw, Rate: 100 * gbps, Delay: 5 * topology.Nanosecond})
	g.AddLink(topology.Link{A: sw, B: b, Rate: 1 * gbps, Delay: 0})
	n := newNetwork(t, built{g}, Config{})
	for range 3 {
		inject(n, 0, 1, 1000, 3, 0)
	}
	first := 80*Nanosecond + 5*Nanosecond + 8*Microsecond
	if got, want := arrivals(n, 1), []Time{first, first + 8*Microsecond, first + 16*Microsecond}; !slices.Equal(got, want) {
		t.Errorf("arrivals at %v, want %v", got, want)
	}
}

// TestLinkIsFullyUsed checks that a lone flow is as fast as its links.
func TestLinkIsFullyUsed(t *testing.T) {
	n := newNetwork(t, star(3, 10*gbps), Config{Seed: 1})
	flows := permutation(t, n, 0)[:1]
	flows[0].Bytes, flows[0].Src, flows[0].Dst = 5_000_000, 0, 1
	traffic := carry(t, n, paper, flows...)
	finish(t, n, traffic)
	r := traffic.Result(0)
	if s := r.Slowdown(); s < 0.999 || s > 1.02 {
		t.Errorf("a lone flow took %v, ideal is %v", r.Duration(), r.Ideal)
	}
}

// TestECMPSpreads checks that source ports spread over spines evenly, that one
// port always takes the same, and that switches choose differently.
func TestECMPSpreads(t *testing.T) {
	const spines, packets = 8, 8000
	n := newNetwork(t, leafSpine(2, 1, spines), Config{Seed: 3})
	for port := range uint16(packets) {
		inject(n, 0, 1, 100, 3, port)
	}
	n.Run(Second)
	chi := 0.0
	for s := range spines {
		i, ok := n.LinkNumber("leaf0", "spine"+string(rune('0'+s)))
		if !ok {
			t.Fatal("no such link")
		}
		d := float64(n.Link(i).Packets) - packets/spines
		chi += d * d / (packets / spines)
	}
	// 7 degrees of freedom: 24.3 is exceeded once in a thousand.
	if chi > 24.3 {
		t.Errorf("the spread over %d spines has a chi-square of %.1f", spines, chi)
	}

	before := n.Links()
	for range 100 {
		inject(n, 0, 1, 100, 3, 77)
	}
	n.Run(2 * Second)
	used := 0
	for i, l := range n.Links() {
		if l.From == "leaf0" && l.To != "h0" && l.Packets > before[i].Packets {
			used++
		}
	}
	if used != 1 {
		t.Errorf("packets of one port took %d ways", used)
	}
}

// TestSharedSeedPolarises checks that switches which hash alike send everything
// that one of them chose for an uplink the same way again.
func TestSharedSeedPolarises(t *testing.T) {
	used := func(shared bool) (links int) {
		cfg := Config{Seed: 5}
		cfg.Switch.SharedSeed = shared
		n := newNetwork(t, topology.FatTree{K: 8, Rate: 10 * gbps, Delay: topology.Microsecond}, cfg)
		for port := range uint16(2000) {
			inject(n, 0, 127, 100, 3, port)
		}
		n.Run(Second)
		for _, l := range n.Links() {
			if l.Packets > 0 && (l.To[:4] == "core") {
				links++
			}
		}
		return links
	}
	if alike, apart := used(true), used(false); alike != 4 || apart != 16 {
		t.Errorf("polarised: %d uplinks to the core, want 4; else %d, want 16", alike, apart)
	}
}

func TestTimeOfTransport(t *testing.T) {
	for _, at := range []Time{0, 1, 999, 1000, 12345678} {
		w := at.wallClock()
		if w < 1 {
			t.Errorf("%v shows as %d, which means not armed", at, w)
		}
		if back := instantOf(w); back > at || at-back >= Nanosecond {
			t.Errorf("%v comes back as %v", at, back)
		}
	}
	if instantOf(math.MaxInt64) != never {
		t.Error("the end of time passes")
	}
}
