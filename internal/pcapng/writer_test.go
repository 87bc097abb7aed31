package pcapng

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"strings"
	"testing"
)

// Every file starts like this: a section header of 28 bytes and an interface
// description of 32.
const preamble = "0a0d0d0a 1c000000 4d3c2b1a 0100 0000 ffffffffffffffff 1c000000" +
	"01000000 20000000 6500 0000 00000000 0900 0100 09000000 0000 0000 20000000"

func unhex(t *testing.T, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBytesOfACapture(t *testing.T) {
	const at = 0x0102030405060708
	tests := []struct {
		name   string
		packet Packet
		want   string
	}{
		{
			"bare",
			Packet{Time: at, Data: []byte{1, 2, 3, 4}},
			"06000000 24000000 00000000 04030201 08070605 04000000 04000000 01020304 24000000",
		},
		{
			"padded",
			Packet{Time: at, Data: []byte{1, 2, 3, 4, 5}},
			"06000000 28000000 00000000 04030201 08070605 05000000 05000000 0102030405 000000 28000000",
		},
		{
			"empty",
			Packet{},
			"06000000 20000000 00000000 00000000 00000000 00000000 00000000 20000000",
		},
		{
			"inbound",
			Packet{Data: []byte{9}, Direction: Inbound},
			"06000000 30000000 00000000 00000000 00000000 01000000 01000000 09 000000" +
				"0200 0400 01000000 0000 0000 30000000",
		},
		{
			"comment",
			Packet{Data: []byte{9}, Comment: []byte("path 7")},
			"06000000 34000000 00000000 00000000 00000000 01000000 01000000 09 000000" +
				"0100 0600 706174682037 0000 0000 0000 34000000",
		},
		{
			"both",
			Packet{Data: []byte{9}, Direction: Outbound, Comment: []byte("path")},
			"06000000 38000000 00000000 00000000 00000000 01000000 01000000 09 000000" +
				"0100 0400 70617468 0200 0400 02000000 0000 0000 38000000",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var file bytes.Buffer
			w, err := NewWriter(&file)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // the second time the buffer is a used one
				if err := w.WritePacket(&test.packet); err != nil {
					t.Fatal(err)
				}
			}
			if want := unhex(t, preamble+test.want+test.want); !bytes.Equal(file.Bytes(), want) {
				t.Errorf("the file is\n%x, want\n%x", file.Bytes(), want)
			}
		})
	}
}

// brokenWriter takes a number of calls and then fails, after half of the bytes.
type brokenWriter struct {
	good  int
	err   error
	calls int
}

func (b *brokenWriter) Write(p []byte) (int, error) {
	b.calls++
	if b.calls > b.good {
		return len(p) / 2, b.err
	}
	return len(p), nil
}

func TestWriteErrorEndsTheCapture(t *testing.T) {
	full := errors.New("disk full")
	for _, test := range []struct{ returned, want error }{{full, full}, {nil, io.ErrShortWrite}} {
		if _, err := NewWriter(&brokenWriter{err: test.returned}); !errors.Is(err, test.want) {
			t.Errorf("NewWriter: %v, want %v", err, test.want)
		}
		out := &brokenWriter{good: 2, err: test.returned}
		w, err := NewWriter(out)
		if err != nil {
			t.Fatal(err)
		}
		packet := &Packet{Data: []byte{1}}
		if err := w.WritePacket(packet); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if err := w.WritePacket(packet); !errors.Is(err, test.want) {
				t.Errorf("WritePacket: %v, want %v", err, test.want)
			}
		}
		if out.calls != 3 {
			t.Errorf("%d calls of Write, want none after the one that failed", out.calls)
		}
	}
}

func TestLimits(t *testing.T) {
	var file bytes.Buffer
	w, err := NewWriter(&file)
	if err != nil {
		t.Fatal(err)
	}
	before := file.Len()
	for _, packet := range []*Packet{
		{Data: make([]byte, MaxPacket+1)},
		{Comment: make([]byte, MaxComment+1)},
	} {
		if err := w.WritePacket(packet); !errors.Is(err, ErrTooLong) {
			t.Errorf("%d bytes, comment of %d: %v", len(packet.Data), len(packet.Comment), err)
		}
	}
	if file.Len() != before {
		t.Errorf("%d bytes of refused packets are in the file", file.Len()-before)
	}
	largest := &Packet{Data: make([]byte, MaxPacket), Comment: make([]byte, MaxComment), Direction: Inbound}
	if err := w.WritePacket(largest); err != nil {
		t.Fatal(err)
	}
	if n := file.Len() - before; n > maxBlock || n < maxBlock-6 {
		t.Errorf("the largest block has %d bytes, maxBlock is %d", n, maxBlock)
	}
}

func TestWritingDoesNotAllocate(t *testing.T) {
	w, err := NewWriter(io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	datagram := testDatagram("[2001:db8::1]:49152", "[2001:db8::2]:4791")
	pieces := [][]byte{make([]byte, 13), make([]byte, 4096)}
	packet := &Packet{Direction: Outbound, Comment: make([]byte, MaxComment)}
	space := make([]byte, 0, MaxPacket)
	allocations := testing.AllocsPerRun(100, func() {
		if packet.Data, err = datagram.Append(space, pieces...); err != nil {
			t.Fatal(err)
		}
		if err := w.WritePacket(packet); err != nil {
			t.Fatal(err)
		}
	})
	if allocations != 0 {
		t.Errorf("%v allocations per packet", allocations)
	}
}
