package scenario

import (
	"testing"

	"github.com/braid-rdma/braid/sim"
)

func TestNotations(t *testing.T) {
	for _, test := range []struct {
		unit unit
		text string
		want int64 // -1: refused
	}{
		{unitSize, "1000", 1000},
		{unitSize, "9MB", 9_000_000},
		{unitSize, "32KiB", 32 << 10},
		{unitSize, "1.5KiB", 1536},
		{unitSize, "2 GB", 2_000_000_000},
		{unitSize, "7B", 7},
		{unitSize, "-1", -1},
		{unitSize, "9mb", -1},
		{unitSize, "MB", -1},
		{unitSize, "1e30", -1},
		{unitSize, "NaN", -1},
		{unitRate, "40Gbps", 40_000_000_000},
		{unitRate, "2.5Gbps", 2_500_000_000},
		{unitRate, "100", 100},
		{unitRate, "40G", -1},
		{unitTime, "2us", int64(2 * sim.Microsecond)},
		{unitTime, "2µs", int64(2 * sim.Microsecond)},
		{unitTime, "1.5us", int64(1500 * sim.Nanosecond)},
		{unitTime, "10ms", int64(10 * sim.Millisecond)},
		{unitTime, "1s", int64(sim.Second)},
		{unitTime, "3ps", 3},
		{unitTime, "0", 0},
		{unitTime, "5", -1}, // of what?
		{unitTime, "", -1},
	} {
		got, ok := notations[test.unit].parse(test.text)
		if !ok {
			got = -1
		}
		if got != test.want {
			t.Errorf("%q is %d, want %d", test.text, got, test.want)
		}
	}
}

// TestNotationsRoundTrip: what Fields shows can be handed to Set.
func TestNotationsRoundTrip(t *testing.T) {
	for u, n := range notations {
		for _, value := range []int64{0, 1, 999, 1000, 1500, 1 << 20, 40_000_000_000, 123_456_789_000} {
			if got, ok := n.parse(n.format(value)); !ok || got != value {
				t.Errorf("unit %d: %d is written %q and read as %d, %v", u, value, n.format(value), got, ok)
			}
		}
	}
}

func TestSimilar(t *testing.T) {
	names := []string{"delta", "alpha", "slots", "tor0-path1", "round-robin"}
	for word, want := range map[string]string{
		"dleta": "delta", "detla": "delta", "delt": "delta", "Delta": "delta", "tor0-pth1": "tor0-path1",
		"roundrobin": "round-robin", "gamma": "", "x": "", "": "",
	} {
		if got := similar(word, names); got != want {
			t.Errorf("similar to %q is %q, want %q", word, got, want)
		}
	}
}
