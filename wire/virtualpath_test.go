package wire

import "testing"

func TestVirtualPath(t *testing.T) {
	h := Headers{MP: MPData{Path: 1}, Ack: MPAck{Path: 2}, Batch: MPAckBatch{Path: 3}}
	for opcode, want := range map[Opcode]uint16{
		MPBit | WriteOnly: 1, MPBit | ReadResponseLast: 1, MPProbe: 1,
		MPBit | Acknowledge: 2, MPProbeAck: 2, MPAcknowledgeBatch: 3,
	} {
		h.Opcode = opcode
		if got, ok := h.VirtualPath(); !ok || got != want {
			t.Errorf("%v names path %d, %t; want %d", opcode, got, ok, want)
		}
	}
	h.Opcode = WriteOnly
	if _, ok := h.VirtualPath(); ok {
		t.Error("a standard packet names no path")
	}
}
