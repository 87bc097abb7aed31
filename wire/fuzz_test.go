package wire

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// FuzzParseHeaders checks that no input panics and that what was accepted
// survives being written and read again.
func FuzzParseHeaders(f *testing.F) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, op := range validOpcodes() {
		h := randomHeaders(r, op)
		if op.HasPayload() {
			h.Pad = 3
			f.Add(append(h.Append(nil), 1, 2, 3, 4, 5, 0, 0, 0))
			continue
		}
		f.Add(h.Append(nil))
	}
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		var h, again Headers
		payload, err := ParseHeaders(b, &h)
		if err != nil {
			return
		}
		out := h.Append(nil)
		if len(out)+len(payload)+int(h.Pad) != len(b) {
			t.Fatalf("%d of %d bytes are accounted for", len(out)+len(payload)+int(h.Pad), len(b))
		}
		out = append(out, payload...)
		out = append(out, make([]byte, h.Pad)...)
		payloadAgain, err := ParseHeaders(out, &again)
		if err != nil || again != h || !bytes.Equal(payload, payloadAgain) {
			t.Fatalf("parsed again: %+v, %v; want %+v", again, err, h)
		}
		if changed := firstAdded(b, out, len(b)-int(h.Pad)); changed >= 0 {
			t.Fatalf("byte %d of %v was %02x and is written as %02x", changed, h.Opcode, b[changed], out[changed])
		}
	})
}

// firstAdded returns the index of the first byte before end at which
// writing set a bit that was not there: reserved bits may vanish on the way
// through, but nothing may appear. It returns -1 if there is none.
func firstAdded(in, out []byte, end int) int {
	for i := range end {
		if out[i]&^in[i] != 0 {
			return i
		}
	}
	return -1
}

// fuzzHeader does the same for a single header.
func fuzzHeader[H interface {
	comparable
	header
}](f *testing.F, seeds ...H) {
	for _, h := range seeds {
		f.Add(h.Append(nil))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		h, rest, err := parseOf[H](b)
		if err != nil {
			return
		}
		out := h.Append(nil)
		if len(out)+len(rest) != len(b) {
			t.Fatalf("%d of %d bytes are accounted for", len(out)+len(rest), len(b))
		}
		again, _, err := parseOf[H](out)
		if err != nil || again != h {
			t.Fatalf("parsed again: %+v, %v; want %+v", again, err, h)
		}
		if changed := firstAdded(b, out, len(out)); changed >= 0 {
			t.Fatalf("byte %d was %02x and is written as %02x", changed, b[changed], out[changed])
		}
	})
}

func FuzzMPData(f *testing.F) {
	fuzzHeader(f, MPData{}, MPData{ReTx: true, Sync: true, Path: 65535, MSN: mask24, Offset: 1, SentAt: 1 << 31})
}

func FuzzMPAck(f *testing.F) {
	fuzzHeader(f, MPAck{}, MPAck{ECE: true, ReTx: true, Path: 49152, SACK: PSNMask, AACK: 0, SentAt: 5, Window: 64})
}

func FuzzMPAckBatch(f *testing.F) {
	fuzzHeader(f, MPAckBatch{}, MPAckBatch{Received: 1},
		MPAckBatch{Path: 3, Base: PSNMask, AACK: 2, Received: 1<<64 - 1, Marked: 1 << 63, ReTx: 1})
}
