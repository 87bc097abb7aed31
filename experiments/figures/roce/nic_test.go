package roce

import "testing"

// Packets miss from the cache's size on, and the NIC is slower the more do.
func TestMisses(t *testing.T) {
	for _, test := range []struct{ cached, inUse, want float64 }{{256, 128, 0}, {256, 256, 0}, {256, 512, 0.5}, {256, 1024, 0.75}} {
		if got := MissShare(test.cached, test.inUse); got != test.want {
			t.Errorf("%v of %v cached: %v miss, want %v", test.cached, test.inUse, got, test.want)
		}
	}
	// 1102 B take 220.4 ns at 40 Gb/s, and as many bits in 470.4 ns are 18.7 Gb/s.
	if got := DrainRate(0.5); got < 18_700_000_000 || got > 18_800_000_000 {
		t.Errorf("half of the packets miss: %v, want 18.74 Gb/s", got)
	}
	if got := DrainRate(0); got < 39_999_999_000 || got > 40_000_000_000 {
		t.Errorf("no packet misses: %v, want 40 Gb/s", got)
	}
}
