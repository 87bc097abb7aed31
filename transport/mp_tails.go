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

// tails keeps the records of tails that have arrived ahead of the head. Each is found by its slot, so that the work
// for a packet does not depend on how many there are, nor on the order in which a peer sends them. It takes no memory
// before the first.
type tails struct {
	records []tailRecord
	free    []uint16 // records that are not in use
	bySlot  []uint16 // L of them
}

// add keeps the record of a packet that is less than L ahead of the head.
func (t *tails) add(r tailRecord, mask seq) {
	if t.bySlot == nil {
		t.bySlot = make([]uint16, mask+1)
	}
	n := len(t.free)
	if n == 0 {
		t.bySlot[r.at&mask] = uint16(len(t.records))
		t.records = append(t.records, r)
		return
	}
	i := t.free[n-1]
	t.free = t.free[:n-1]
	t.bySlot[r.at&mask], t.records[i] = i, r
}

// take returns the record of packet s, which was added. It is valid until the next is added.
func (t *tails) take(s, mask seq) *tailRecord {
	i := t.bySlot[s&mask]
	t.free = append(t.free, i)
	return &t.records[i]
}
