package transport

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/braid-rdma/braid/wire"
)

// The multi-path state of a connection by MP-RDMA's table 1: every variable
// that the paper adds to a RoCE queue pair, in the paper's sizes. It is what
// an RNIC would keep, and what a trace records. Only the paper's own
// mechanisms fit into it; docs/decisions/mp-state.md has the table.

// MPStateLen is the size of the table: 66 bytes (MP-RDMA §4.1).
const MPStateLen = 66

// ErrStateTable is what ParseMPState returns for bytes that are no table.
var ErrStateTable = errors.New("not a table of MP state")

// MPState is table 1 in Go's types.
type MPState struct {
	Window       float64  // cwnd, in packets; the table keeps 1/65536
	Inflate      int32    // ACKs above snd_una
	SendUna      wire.PSN // snd_una
	SendNext     wire.PSN // snd_nxt
	RecvNext     wire.PSN // rcv_nxt
	HighestAcked wire.PSN // snd_ooh
	Slots        uint8    // L
	Retransmit   wire.PSN // snd_retx; snd_una outside recovery mode
	Recovery     wire.PSN // recovery; snd_una outside recovery mode
	MaxPathID    uint16
	Probability  float64 // p; the table keeps half percents
	Bitmap       [16]byte
	BitmapHead   uint8   // slot of rcv_nxt in the cyclic array
	BurstTimer   uint32  // deadline in µs modulo 2^24; 0: not armed
	RestartTimer uint32  // when the connection counts as idle, likewise
	Alpha        float64 // α; the table keeps halves
	SmoothedRTT  Time    // srtt
	RTTVariation Time    // rttvar
	RTTMeasured  bool    // the place of rtt_seq: packets carry their send time, so no PSN is timed
}

// Units of the numbers that the table keeps as fractions.
const (
	windowUnit      = 1.0 / 65536
	probabilityUnit = 0.005
	alphaUnit       = 0.5
)

// InRecovery says whether the connection is in recovery mode: §3.5 ends it
// when snd_una moves beyond recovery.
func (s *MPState) InRecovery() bool { return s.SendUna.Before(s.Recovery) }

// Append writes the 66 bytes of the table after b. Numbers beyond the range
// of their field are written as the nearest that fits.
func (s *MPState) Append(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(fraction(s.Window, windowUnit, math.MaxUint32)))
	b = binary.BigEndian.AppendUint32(b, uint32(s.Inflate))
	for _, p := range [...]wire.PSN{s.SendUna, s.SendNext, s.RecvNext, s.HighestAcked} {
		b = append24(b, uint32(p))
	}
	b = append(b, s.Slots)
	b = append24(b, uint32(s.Retransmit))
	b = append24(b, uint32(s.Recovery))
	b = binary.BigEndian.AppendUint16(b, s.MaxPathID)
	b = append(b, uint8(fraction(s.Probability, probabilityUnit, math.MaxUint8)))
	b = append(b, s.Bitmap[:]...)
	b = append(b, s.BitmapHead)
	b = append24(b, s.BurstTimer)
	b = append24(b, s.RestartTimer)
	b = append(b, uint8(fraction(s.Alpha, alphaUnit, math.MaxUint8)))
	b = binary.BigEndian.AppendUint32(b, nanos32(s.SmoothedRTT))
	b = binary.BigEndian.AppendUint32(b, nanos32(s.RTTVariation))
	measured := uint32(0)
	if s.RTTMeasured {
		measured = 1
	}
	return binary.BigEndian.AppendUint32(b, measured)
}

// ParseMPState reads a table at the start of b.
func ParseMPState(b []byte) (s MPState, rest []byte, err error) {
	if len(b) < MPStateLen {
		return MPState{}, nil, fmt.Errorf("%w: %d bytes of %d", ErrStateTable, len(b), MPStateLen)
	}
	f := fields{b[:MPStateLen]}
	s.Window = float64(f.take(4)) * windowUnit
	s.Inflate = int32(f.take(4))
	s.SendUna, s.SendNext = wire.PSN(f.take(3)), wire.PSN(f.take(3))
	s.RecvNext, s.HighestAcked = wire.PSN(f.take(3)), wire.PSN(f.take(3))
	s.Slots = uint8(f.take(1))
	s.Retransmit, s.Recovery = wire.PSN(f.take(3)), wire.PSN(f.take(3))
	s.MaxPathID = uint16(f.take(2))
	s.Probability = float64(f.take(1)) * probabilityUnit
	f.b = f.b[copy(s.Bitmap[:], f.b):]
	s.BitmapHead = uint8(f.take(1))
	s.BurstTimer, s.RestartTimer = f.take(3), f.take(3)
	s.Alpha = float64(f.take(1)) * alphaUnit
	s.SmoothedRTT, s.RTTVariation = Time(f.take(4)), Time(f.take(4))
	measured := f.take(4)
	s.RTTMeasured = measured == 1
	if s.Slots == 0 || s.Slots > 64 || s.BitmapHead >= s.Slots || measured > 1 {
		return MPState{}, nil, fmt.Errorf("%w: L=%d, head %d", ErrStateTable, s.Slots, s.BitmapHead)
	}
	return s, b[MPStateLen:], nil
}

// AppendState writes the connection's table after b, for traces. A connection
// that is not ready to send, tracks more than 64 packets or recovers
// selectively has no such table, and appends nothing. The table is that of the
// stream of requests: the paper has no other.
func (m *MP) AppendState(b []byte) []byte {
	paper, ok := m.loss.(*paperRecovery)
	if !ok || m.opt.Slots > 64 {
		return b
	}
	r, out, in := &paper.streams[requests], &m.out[requests], &m.recv.in[requests]
	s := MPState{
		Window: m.gate.control.Window(), Inflate: int32(r.inflate),
		SendUna: out.una.psn(), SendNext: out.nxt.psn(), RecvNext: in.nxt.psn(),
		HighestAcked: out.ooh.psn(), Slots: uint8(m.opt.Slots),
		Retransmit: out.una.psn(), Recovery: out.una.psn(),
		MaxPathID: uint16(m.paths.table.len() - 1), Probability: m.opt.ProbeProbability,
		BitmapHead: uint8(in.nxt % seq(m.opt.Slots)),
		BurstTimer: deadline24(m.timers.deadlineOf(timerBurst)), RestartTimer: deadline24(idleFrom(max(out.lastSent, m.lastAck), m.rtt.smoothed())),
		Alpha: m.opt.Alpha, SmoothedRTT: m.rtt.srtt, RTTVariation: m.rtt.rttvar, RTTMeasured: m.rtt.measured,
	}
	if r.active {
		s.Retransmit, s.Recovery = r.retx.psn(), r.recovery.psn()
	}
	for i, w := range in.slots.words {
		binary.BigEndian.PutUint64(s.Bitmap[8*i:], w)
	}
	return s.Append(b)
}

// idleFrom is when a connection counts as idle that was last active at last (§3.5:
// three round trips later), or zero when it never was.
func idleFrom(last, rtt Time) Time {
	if last == 0 {
		return 0
	}
	return last + 3*rtt
}

// fields takes big-endian numbers off the front of a table.
type fields struct{ b []byte }

func (f *fields) take(bytes int) uint32 {
	var v uint32
	for _, x := range f.b[:bytes] {
		v = v<<8 | uint32(x)
	}
	f.b = f.b[bytes:]
	return v
}

func append24(b []byte, v uint32) []byte { return append(b, byte(v>>16), byte(v>>8), byte(v)) }

// fraction expresses v in a unit, between zero and most.
func fraction(v, unit, most float64) uint64 {
	return uint64(max(0, min(math.Round(v/unit), most)))
}

func nanos32(t Time) uint32 { return uint32(max(0, min(t, math.MaxUint32))) }

// deadline24 is a deadline in µs, cut to 24 bits: they wrap after 16.8 s, far
// beyond either timer. A deadline that would read as "not armed" is one µs later.
func deadline24(t Time) uint32 {
	if t == 0 {
		return 0
	}
	return max(1, uint32(t/Microsecond)&0xffffff)
}
