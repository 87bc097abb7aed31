package transport

import "github.com/braid-rdma/braid/wire"

// segment holds the opcodes of a message by the place of a packet in it.
type segment struct {
	first, middle, last, only wire.Opcode
}

// segments are the opcodes of the operations that carry payload.
var segments = [...]segment{
	OpSend:     {wire.SendFirst, wire.SendMiddle, wire.SendLast, wire.SendOnly},
	OpSendImm:  {wire.SendFirst, wire.SendMiddle, wire.SendLastImm, wire.SendOnlyImm},
	OpSendInv:  {wire.SendFirst, wire.SendMiddle, wire.SendLastInv, wire.SendOnlyInv},
	OpWrite:    {wire.WriteFirst, wire.WriteMiddle, wire.WriteLast, wire.WriteOnly},
	OpWriteImm: {wire.WriteFirst, wire.WriteMiddle, wire.WriteLastImm, wire.WriteOnlyImm},
}

func (s *segment) opcode(offset, packets uint32) wire.Opcode {
	first, last := offset == 0, offset+1 == packets
	switch {
	case first && last:
		return s.only
	case first:
		return s.first
	case last:
		return s.last
	}
	return s.middle
}

// readSegments are the opcodes of a READ response.
var readSegments = segment{wire.ReadResponseFirst, wire.ReadResponseMiddle, wire.ReadResponseLast, wire.ReadResponseOnly}
