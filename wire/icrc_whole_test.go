package wire

import (
	"bytes"
	"testing"
)

// Whole is a quicker way to the same value, and leaves the bytes as they were.
func TestICRCWholeEqualsParts(t *testing.T) {
	for n := BTHLen; n < 200; n++ {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(i*37 + n)
		}
		before := bytes.Clone(b)
		want := ICRC(0x1234).Headers(b[:BTHLen]).Payload(b[BTHLen:])
		if got := ICRC(0x1234).Whole(b); got != want {
			t.Fatalf("%d bytes: %#x, want %#x", n, got, want)
		}
		if !bytes.Equal(b, before) {
			t.Fatalf("%d bytes: the packet was changed", n)
		}
	}
}
