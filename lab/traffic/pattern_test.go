package traffic

import "testing"

func TestCheckerFindsWhatIsWrong(t *testing.T) {
	const size, depth = 256, 3
	message := func(number uint64) []byte {
		b := make([]byte, size)
		fillPattern(b, int(number%depth))
		stamp(b, number)
		return b
	}
	tests := map[string]func(n uint64, b []byte) []byte{
		"one bit":       func(_ uint64, b []byte) []byte { b[100] ^= 1; return b },
		"last byte":     func(_ uint64, b []byte) []byte { b[size-1]++; return b },
		"short":         func(_ uint64, b []byte) []byte { return b[:size-1] },
		"again":         func(n uint64, _ []byte) []byte { return message(n - 1) },
		"ahead":         func(n uint64, _ []byte) []byte { return message(n + 1) },
		"other's bytes": func(n uint64, _ []byte) []byte { b := message(n + 1); stamp(b, n); return b },
	}
	for name, spoil := range tests {
		c := newChecker(size, depth)
		for n := range uint64(10) {
			b := message(n)
			if n == 5 {
				b = spoil(n, b)
			}
			c.arrived(b)
		}
		if c.wrong != 1 || c.next != 10 {
			t.Errorf("%s: %d wrong of %d, want 1 of 10", name, c.wrong, c.next)
		}
	}
	c := newChecker(size, depth)
	for n := range uint64(10) {
		c.arrived(message(n))
	}
	if c.wrong != 0 {
		t.Errorf("%d wrong of what is right", c.wrong)
	}
}
