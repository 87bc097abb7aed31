package transport

import "github.com/braid-rdma/braid/wire"

// tailRecord is the last packet of a message that needs an action.
type tailRecord struct {
	at        seq
	opcode    wire.Opcode // base
	solicited bool
	msn       uint32
	bytes     uint32
	imm       uint32
	rkey      wire.RKey // SEND with invalidate; READ and atomics
	va        uint64
	a, b      uint64 // atomics: operands; response: a is the result
}

// tails has the records of tails that have arrived ahead of the head, as a heap: whatever the order in which a peer sends
// them, one costs as many steps as the number of all of them has bits. It takes no memory before the first.
type tails []tailRecord

// add keeps a record. One that comes in order is in its place at once.
func (t *tails) add(r tailRecord) {
	h := append(*t, r)
	i := len(h) - 1
	for above := (i - 1) / 2; i > 0 && h[above].at > r.at; above = (i - 1) / 2 {
		h[i] = h[above]
		i = above
	}
	h[i] = r
	*t = h
}

// pop takes the first of them in the order of the stream.
func (t *tails) pop() tailRecord {
	h := *t
	first, last := h[0], h[len(h)-1]
	h = h[:len(h)-1]
	i := 0
	for below := 1; below < len(h); below = 2*i + 1 {
		if below+1 < len(h) && h[below+1].at < h[below].at {
			below++
		}
		if last.at <= h[below].at {
			break
		}
		h[i] = h[below]
		i = below
	}
	if len(h) > 0 {
		h[i] = last
	}
	*t = h
	return first
}
