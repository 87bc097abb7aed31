package transport

import (
	"math/rand/v2"

	"github.com/braid-rdma/braid/wire"
)

// liar is a peer of the device that knows everything of its own connection and
// sends what it likes: packets that look valid and are lies.
type liar struct {
	w        *hostileWorld
	rng      *rand.Rand
	rc       bool
	slots    int // the device's L
	lies     []*lie
	interval Time    // between two lies
	burst    int     // lies told at a time
	truth    float64 // how often it acknowledges what it received
	withhold bool    // the first packet of its stream never comes

	psn      wire.PSN // of its next request
	msn      uint32
	expected wire.PSN   // the next packet of the device
	sacked   []wire.PSN // that it has acknowledged truly, not long ago
	taken    wire.PSN   // the next packet of a response that it expects
	first    wire.PSN   // of its own packets
	read     *letter    // its last READ
	log      []*letter
	told     int

	backwards int // requests that it has sent from the far end of the window on
}

// lie is a kind of packet that a liar sends.
type lie struct {
	name   string
	rc, mp bool
	tell   func(l *liar) *letter // nil: nothing to say just now
}

// tell sends the next lies and returns later.
func (l *liar) tell() {
	for range l.burst {
		if x := oneOf(l.rng, l.lies...).tell(l); x != nil {
			l.send(x)
		}
		l.told++
	}
	l.w.at(l.w.now+l.interval, l.tell)
}

func (l *liar) send(x *letter) {
	x.to = l.w.device.hostile
	if len(l.log) < 256 {
		l.log = append(l.log, x)
	} else {
		l.log[l.rng.IntN(len(l.log))] = x
	}
	l.w.carry(x, l.w.device.receiver)
}

// receive takes a packet of the device. A liar tells the truth now and then, as
// its connection would not live long otherwise.
func (l *liar) receive(x *letter) {
	op := x.headers.Opcode.Base()
	if op == wire.Acknowledge || op == wire.CNP || !l.rc && !isStreamData(x.headers.Opcode) {
		return
	}
	if streamOf(op) == responses {
		l.receiveResponse(x)
		return
	}
	if x.headers.PSN == l.expected {
		l.expected = l.expected.Add(1)
	}
	if !chance(l.rng, l.truth) {
		return
	}
	if l.sacked = append(l.sacked, x.headers.PSN); len(l.sacked) > 32 {
		l.sacked = l.sacked[1:]
	}
	a := l.packet(wire.Acknowledge, l.expected.Add(-1))
	a.headers.AETH.Syndrome = wire.AckSyndrome(wire.NoCredit)
	a.headers.Ack = wire.MPAck{Path: x.headers.MP.Path, SACK: x.headers.PSN, AACK: l.expected, SentAt: x.headers.MP.SentAt}
	l.send(a)
}

// receiveResponse takes a packet that the device sends because the liar asked for
// it. Over MP responses are a stream of their own.
func (l *liar) receiveResponse(x *letter) {
	if x.headers.PSN == l.taken {
		l.taken = l.taken.Add(1)
	}
	if l.rc || !chance(l.rng, l.truth) {
		return
	}
	a := l.packet(wire.Acknowledge, l.taken.Add(-1))
	a.headers.AETH.Syndrome = wire.AckSyndrome(wire.NoCredit)
	a.headers.Ack = wire.MPAck{Responses: true, Path: x.headers.MP.Path, SACK: x.headers.PSN, AACK: l.taken, SentAt: x.headers.MP.SentAt}
	l.send(a)
}

// packet makes a packet of the liar's connection.
func (l *liar) packet(op wire.Opcode, psn wire.PSN) *letter {
	x := &letter{}
	x.headers.BTH = wire.BTH{Opcode: op, PKey: wire.DefaultPKey, DestQP: l.w.device.hostile.qp.Number(), PSN: psn, AckReq: true}
	if !l.rc && op&0xe0 == 0 {
		x.headers.Opcode |= wire.MPBit
		x.headers.MP = wire.MPData{Path: uint16(l.rng.IntN(hostilePaths)), MSN: l.msn, SentAt: l.w.now.stamp()}
		x.path = Path(x.headers.MP.Path)
	}
	return x
}

func (x *letter) with(length int) *letter {
	x.payload = harnessPattern[:length]
	x.headers.Pad = uint8(-length & 3)
	return x
}

// request makes a request with the number that comes next, or, where the head is
// withheld, one from the window behind it.
func (l *liar) request(op wire.Opcode) *letter {
	psn := l.psn
	if l.withhold {
		psn = psn.Add(1 + l.rng.IntN(l.slots-1))
	} else {
		l.psn = l.psn.Add(1)
	}
	x := l.packet(op, psn)
	if op.IsSend() && op.Ends() && !l.withhold {
		l.msn++
	}
	return x
}

// write makes a WRITE to memory that is open to the liar.
func (l *liar) write(length int) *letter {
	x := l.request(wire.WriteOnly).with(length)
	open := l.w.device.open
	x.headers.RETH = wire.RETH{VA: open.Base + uint64(l.rng.IntN(1000)), RKey: open.RKey, Length: uint32(length)}
	return x
}

// recent is a packet number of the device that was sent not long ago.
func (l *liar) recent() wire.PSN { return l.expected.Add(-1 - l.rng.IntN(16)) }

// ack makes an acknowledgement of one packet, and of all before upto.
func (l *liar) ack(psn, upto wire.PSN, y wire.Syndrome) *letter {
	x := l.packet(wire.Acknowledge, psn)
	x.headers.AETH.Syndrome = y
	x.headers.Ack = wire.MPAck{
		Path: uint16(l.rng.IntN(hostilePaths)), SACK: psn, AACK: upto, SentAt: l.w.now.stamp() - uint32(l.rng.IntN(1000000)),
		Window: uint16(l.rng.IntN(3)), ECE: chance(l.rng, 0.5), ReTx: chance(l.rng, 0.2), Responses: chance(l.rng, 0.3),
	}
	return x
}

var positive = wire.AckSyndrome(wire.NoCredit)

var repeatsAcks = &lie{"repeats old acknowledgements", true, true, func(l *liar) *letter {
	if len(l.sacked) == 0 {
		return nil
	}
	psn := oneOf(l.rng, l.sacked...)
	x := l.ack(psn, psn.Add(1), positive)
	x.headers.Ack.Responses = false
	// A liar that tells nothing else has acknowledged each transmission once.
	x.stale = l.truth == 1 && len(l.lies) == 1
	return x
}}

var lies = []*lie{
	{"acknowledges what was not sent", true, true, func(l *liar) *letter {
		psn := l.expected.Add(l.rng.IntN(2000))
		return l.ack(psn, psn.Add(1), positive)
	}},
	{"acknowledges before it arrives", true, true, func(l *liar) *letter {
		return l.ack(l.expected, l.expected.Add(1), positive)
	}},
	repeatsAcks,
	{"tries remote keys", true, true, func(l *liar) *letter {
		x := l.request(oneOf(l.rng, wire.WriteOnly, wire.WriteOnly, wire.ReadRequest, wire.FetchAdd))
		if x.headers.Opcode.Base() == wire.WriteOnly {
			x = x.with(8)
		}
		key, va := wire.RKey(l.rng.Uint32()), l.rng.Uint64()
		x.headers.RETH = wire.RETH{VA: va, RKey: key, Length: 8}
		x.headers.AtomicETH = wire.AtomicETH{VA: va &^ 7, RKey: key, SwapAdd: 1}
		return x
	}},
	{"ends remote keys", true, true, func(l *liar) *letter {
		x := l.request(wire.SendOnlyInv).with(4)
		x.headers.IETH.RKey = wire.RKey(l.rng.Uint32())
		return x
	}},
	{"replays its packets", true, true, func(l *liar) *letter {
		if len(l.log) == 0 {
			return nil
		}
		again := *oneOf(l.rng, l.log...)
		again.stale = false
		return &again
	}},
	{"jumps ahead", true, true, func(l *liar) *letter {
		x := l.packet(oneOf(l.rng, wire.SendOnly, wire.SendFirst, wire.SendMiddle, wire.WriteOnlyImm), l.psn.Add(1+l.rng.IntN(2*l.slots)))
		x.headers.MP.MSN = (l.msn + uint32(l.rng.IntN(2*l.slots))) & wire.PSNMask
		if x.headers.Opcode.Base() == wire.SendMiddle {
			x.headers.MP.Offset = 1
		}
		length := 1
		if !x.headers.Opcode.Ends() {
			length = hostileMTU
		}
		return x.with(length)
	}},
	{"invents path numbers", false, true, func(l *liar) *letter {
		x := l.write(1)
		x.headers.MP.Path = uint16(l.rng.Uint32())
		x.path = Path(x.headers.MP.Path)
		return x
	}},
	{"floods with tiny writes", true, true, func(l *liar) *letter { return l.write(1) }},
	{"floods with tiny messages", true, true, func(l *liar) *letter { return l.request(wire.SendOnly).with(l.rng.IntN(2)) }},
	{"is never ready", true, true, func(l *liar) *letter {
		psn := l.recent()
		return l.ack(psn, psn, wire.RNRSyndrome(uint8(l.rng.IntN(32))))
	}},
	{"misses every packet", true, true, func(l *liar) *letter {
		psn := l.recent()
		y := wire.NakPSNSequence
		if !l.rc && chance(l.rng, 0.3) {
			y = wire.NakEarlySynchronise
		}
		return l.ack(psn, psn, y)
	}},
	{"refuses requests", true, true, func(l *liar) *letter {
		psn := l.recent()
		return l.ack(psn, psn, oneOf(l.rng, wire.NakRemoteAccess, wire.NakInvalidRequest, wire.NakRemoteOperational, wire.Syndrome(l.rng.IntN(256))))
	}},
	{"reports congestion", true, true, func(l *liar) *letter { return l.packet(wire.CNP, 0) }},
	{"sends wrong batches", false, true, func(l *liar) *letter {
		x := l.packet(wire.MPAcknowledgeBatch, l.recent())
		x.headers.AETH.Syndrome = positive
		base := l.expected.Add(l.rng.IntN(200) - 100)
		x.headers.Batch = wire.MPAckBatch{
			Path: uint16(l.rng.IntN(8)), Base: base, AACK: base.Add(l.rng.IntN(100) - 50), SentAt: l.rng.Uint32(),
			Window: uint16(l.rng.IntN(3)), Received: l.rng.Uint64() | 1, Responses: chance(l.rng, 0.3),
		}
		x.headers.Batch.Marked = l.rng.Uint64() & x.headers.Batch.Received
		x.headers.Batch.ReTx = l.rng.Uint64() & x.headers.Batch.Received
		return x
	}},
	{"responds to what nobody asked", true, true, func(l *liar) *letter {
		op := oneOf(l.rng, wire.ReadResponseFirst, wire.ReadResponseMiddle, wire.ReadResponseLast, wire.ReadResponseOnly, wire.AtomicAcknowledge)
		psn := l.recent()
		if !l.rc {
			psn = l.first.Add(l.rng.IntN(l.slots))
		}
		x := l.packet(op, psn)
		x.headers.AETH.Syndrome = positive
		x.headers.MP.MSN, x.headers.MP.Offset = uint32(l.rng.IntN(8)), uint32(l.rng.IntN(3))
		if op == wire.AtomicAcknowledge {
			return x
		}
		return x.with(oneOf(l.rng, 1, hostileMTU))
	}},
	{"invents operation codes", true, true, func(l *liar) *letter {
		x := l.packet(wire.Opcode(l.rng.IntN(256)), l.psn.Add(l.rng.IntN(4)))
		x.headers.RETH = wire.RETH{VA: l.w.device.open.Base, RKey: l.w.device.open.RKey, Length: l.rng.Uint32()}
		return x.with(oneOf(l.rng, 0, 1, hostileMTU))
	}},
	{"reads without end", true, true, func(l *liar) *letter {
		if l.read != nil && chance(l.rng, 0.98) {
			again := *l.read
			return &again
		}
		open := l.w.device.open
		x := l.request(wire.ReadRequest)
		x.headers.RETH = wire.RETH{VA: open.Base, RKey: open.RKey, Length: uint32(open.Length)}
		if l.rc && !l.withhold {
			l.psn = x.headers.PSN.Add(int(open.Length) / hostileMTU)
		}
		l.read = x
		return x
	}},
	{"lies about lengths", true, true, func(l *liar) *letter {
		x := l.request(oneOf(l.rng, wire.SendFirst, wire.SendMiddle, wire.SendLast, wire.WriteFirst, wire.WriteMiddle, wire.WriteLast, wire.WriteOnly))
		open := l.w.device.open
		x.headers.MP.Offset = uint32(oneOf(l.rng, 0, 1, 2, 0xffffff))
		x.headers.RETH = wire.RETH{VA: open.Base + open.Length - 8, RKey: open.RKey, Length: oneOf[uint32](l.rng, 0, 1, 9, 1<<31, 0xffffffff)}
		return x.with(oneOf(l.rng, 0, 1, hostileMTU-1, hostileMTU))
	}},
	{"asks backwards", false, true, func(l *liar) *letter {
		open := l.w.device.open
		x := l.packet(wire.ReadRequest, l.psn.Add(l.slots-1-l.backwards%(l.slots-1)))
		x.headers.RETH = wire.RETH{VA: open.Base, RKey: open.RKey, Length: 1}
		l.backwards++
		return x
	}},
	{"probes without end", false, true, func(l *liar) *letter {
		x := l.packet(wire.MPProbe, l.psn)
		x.headers.MP = wire.MPData{Path: uint16(l.rng.IntN(4)), SentAt: l.rng.Uint32()}
		return x
	}},
	{"synchronises out of turn", false, true, func(l *liar) *letter {
		x := l.write(1)
		x.headers.MP.Sync, x.headers.MP.ReTx = true, chance(l.rng, 0.5)
		x.headers.MP.Offset = uint32(l.rng.IntN(3))
		return x
	}},
}
