package wire

import (
	"testing"
	"testing/quick"
)

func TestPSNWraps(t *testing.T) {
	for _, tt := range []struct {
		p      PSN
		n      int
		want   PSN
		before bool // p.Before(want)
	}{
		{0, 1, 1, true},
		{0xffffff, 1, 0, true},
		{0, -1, 0xffffff, false},
		{0xfffffe, 5, 3, true},
		{3, -5, 0xfffffe, false},
		{5, 0, 5, false},
		{0, 1<<23 - 1, 0x7fffff, true},
		{0x900000, 1<<23 - 1, 0x0fffff, true},
		{0, -1 << 23, 0x800000, true}, // half the circle: each is before the other
		{0x800000, -1 << 23, 0, true},
	} {
		got := tt.p.Add(tt.n)
		if got != tt.want {
			t.Errorf("PSN(%#x).Add(%d) = %#x, want %#x", tt.p, tt.n, got, tt.want)
		}
		if d := got.Sub(tt.p); d != tt.n {
			t.Errorf("PSN(%#x).Sub(%#x) = %d, want %d", got, tt.p, d, tt.n)
		}
		if b := tt.p.Before(tt.want); b != tt.before {
			t.Errorf("PSN(%#x).Before(%#x) = %v, want %v", tt.p, tt.want, b, tt.before)
		}
	}
}

func TestPSNSubUndoesAdd(t *testing.T) {
	undoes := func(p, q PSN) bool {
		p, q = p&PSNMask, q&PSNMask
		d := p.Sub(q)
		return d >= -1<<23 && d < 1<<23 && q.Add(d) == p
	}
	if err := quick.Check(undoes, nil); err != nil {
		t.Error(err)
	}
}

func TestQPNPrintsAsHex(t *testing.T) {
	if got := QPN(0x12).String(); got != "0x000012" {
		t.Errorf("QPN(0x12).String() = %q", got)
	}
}
