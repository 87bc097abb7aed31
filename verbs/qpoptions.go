package verbs

import (
	"fmt"
	"time"

	"github.com/braid-rdma/braid/transport"
)

// QPType is the kind of a queue pair.
type QPType uint8

// The kinds of queue pair.
const (
	// RC is the reliable connection of the InfiniBand specification: one path,
	// understood by every RoCEv2 peer.
	RC QPType = iota
	// MP is the multi-path connection of the MP-RDMA paper, between braid peers.
	MP
	// UD is the unreliable datagram.
	UD
)

var qpTypeNames = [...]string{"RC", "MP", "UD"}

// String is the name of the type.
func (t QPType) String() string {
	if int(t) < len(qpTypeNames) {
		return qpTypeNames[t]
	}
	return "UNKNOWN"
}

// QPOptions are what a queue pair is created with. Zero values stand for the
// defaults that the fields name.
type QPOptions struct {
	Type   QPType
	SendCQ *CQ  // required
	RecvCQ *CQ  // default: SendCQ
	SRQ    *SRQ // default: the queue pair has a receive queue of its own

	SendDepth  int // work requests; default 128
	RecvDepth  int // default 128; unused with SRQ
	MaxSendSGE int // default 4
	MaxRecvSGE int // default 4; unused with SRQ
	MaxInline  int // bytes of inline data; default 256; None: none

	// SignalAll makes every send request complete with a completion, not only
	// those flagged Signaled.
	SignalAll bool

	// MP are the parameters of a multi-path queue pair: start from WireOptions
	// or PaperOptions. If Slots is zero they are WireOptions, with the Policy and
	// Control that are set here.
	MP MPOptions
	// RC are the choices of an RC queue pair; the zero value is the default.
	RC transport.RCOptions
	// Trace receives the events of the queue pair, packet by packet, under the engine's
	// lock: it must not block. Nil: there are none.
	Trace transport.Tracer
	// Reuse is a closed queue pair of the device whose memory the new one takes, if it can: one of
	// the same type, in software, that no other has taken. The new one has a number of
	// its own, and nothing else of the old.
	Reuse *QP
	// Conn is how Connect connects.
	Conn ConnOptions
}

// ConnOptions are this side's wishes for a connection. As in QPOptions zero
// stands for the default; None asks for zero itself.
type ConnOptions struct {
	// MTU is the path MTU; default: the largest that the engine's network carries. RC
	// and UD have 256 to 4096 in powers of two, MP all multiples of 4 from 256 on.
	MTU         int
	Paths       int // MP: virtual paths; default: all that the engine offers
	Reads       int // READs and atomics outstanding towards the peer; default 16
	ReadsServed int // READs and atomics that the peer may have outstanding; default 16
	// AckTimeout is the local ACK timeout: the time without an acknowledgement after
	// which packets are sent again. It is rounded up to the next that the
	// specification has, 4.096 µs · 2^n with n from 1 to 31; default 67 ms, of
	// MP 537 ms; negative: never.
	AckTimeout time.Duration
	RetryCount int // retries after a timeout or sequence error, to 7; default 7
	RNRRetry   int // retries when the peer has no receive posted, to 7; default 7: for ever
	// MinRNRTimer is the wait asked of a peer when no receive is posted, rounded up
	// to the next that the specification has, 10 µs to 655 ms; default 0.64 ms.
	MinRNRTimer time.Duration
	// Keepalive is the silence after which the peer is asked whether it lives; one
	// that does not respond to the usual retries ends the connection. They are
	// spread over at least half as long again, so that a peer which is busy or
	// stopped meanwhile is not taken for dead. At most MaxKeepalive; default
	// DefaultKeepalive, in a simulation none; negative: an idle connection notices
	// nothing.
	Keepalive time.Duration
}

// DefaultKeepalive is the silence after which the peer of an idle connection is
// asked whether it lives. With the default timeout and retries a peer that is
// gone is noticed within 15 s. It costs an idle connection one packet and its
// acknowledgement in 10 s, or two of each where both sides ask: at most 0.4
// packets a second. A connection that is used pays nothing.
const DefaultKeepalive = 10 * time.Second

// defaultAckTimeout is 67 ms. MP retransmits by its own estimate of the round trip;
// there the timeout decides only when to give up, which is after eight times 537 ms.
func defaultAckTimeout(kind QPType) time.Duration {
	if kind == MP {
		return AckTimeoutOf(17)
	}
	return AckTimeoutOf(14)
}

// None asks for zero in a field whose zero stands for a default.
const None = -1

func (c ConnOptions) withDefaults(info *EngineInfo, kind QPType) ConnOptions {
	orDefault(&c.MTU, info.MTUOf(kind))
	orDefault(&c.Paths, info.Paths)
	orDefault(&c.Reads, transport.MaxReads)
	orDefault(&c.ReadsServed, transport.MaxReads)
	orDefault(&c.AckTimeout, defaultAckTimeout(kind))
	orDefault(&c.RetryCount, 7)
	orDefault(&c.RNRRetry, transport.InfiniteRNRRetry)
	orDefault(&c.MinRNRTimer, RNRTimerOf(12))
	orDefault(&c.Keepalive, info.Keepalive)
	return c
}

func (c *ConnOptions) check(info *EngineInfo, kind QPType) error {
	switch {
	case !validMTU(kind, c.MTU) || c.MTU > info.MTUOf(kind):
		return fmt.Errorf("%w: path MTU %d; %v has %s, of which this network carries up to %d", ErrAttr, c.MTU, kind, mtuRule(kind), info.MTUOf(kind))
	case c.Paths < 1 || c.Paths > info.Paths:
		return fmt.Errorf("%w: %d paths; the engine offers %d", ErrAttr, c.Paths, info.Paths)
	case !within(c.Reads, transport.MaxReads) || !within(c.ReadsServed, transport.MaxReads):
		return fmt.Errorf("%w: outstanding reads beyond %d", ErrAttr, transport.MaxReads)
	case !within(c.RetryCount, 7) || !within(c.RNRRetry, 7):
		return fmt.Errorf("%w: retry count beyond 7", ErrAttr)
	}
	if _, err := ackTimeoutCode(c.AckTimeout); err != nil {
		return err
	}
	_, err := rnrTimerCode(c.MinRNRTimer)
	return err
}

// AckTimeoutCode is the specification's code of the ACK timeout, as connection
// managers tell it to each other.
func (c *ConnOptions) AckTimeoutCode() uint8 {
	code, _ := ackTimeoutCode(c.AckTimeout) // checked when the queue pair was created
	return code
}

func (c *ConnOptions) rnrTimerCode() uint8 {
	code, _ := rnrTimerCode(c.MinRNRTimer) // likewise
	return code
}

// validMTU says whether queue pairs of a type may have a path MTU.
func validMTU(kind QPType, mtu int) bool {
	if kind == MP {
		return transport.ValidMPMTU(mtu)
	}
	return transport.ValidMTU(mtu)
}

// mtuRule says in words what validMTU checks.
func mtuRule(kind QPType) string {
	if kind == MP {
		return "multiples of 4 from 256 on"
	}
	return "powers of two from 256 on"
}

func within(value, limit int) bool { return value >= None && value <= limit }

// plain is a field's value once defaults are filled in: None is zero.
func plain(value int) int { return max(value, 0) }

// withDefaults fills in what is left at zero.
func (o QPOptions) withDefaults(info *EngineInfo) QPOptions {
	orDefault(&o.SendDepth, 128)
	orDefault(&o.RecvDepth, 128)
	orDefault(&o.MaxSendSGE, 4)
	orDefault(&o.MaxRecvSGE, 4)
	orDefault(&o.MaxInline, 256)
	if o.RecvCQ == nil {
		o.RecvCQ = o.SendCQ
	}
	if o.MP.Slots == 0 {
		policy, control := o.MP.Policy, o.MP.Control
		o.MP = WireOptions()
		o.MP.Policy, o.MP.Control = policy, control
	}
	o.Conn = o.Conn.withDefaults(info, o.Type)
	if o.Type != MP {
		o.Conn.Paths = 1
	}
	return o
}

func orDefault[T int | time.Duration](field *T, value T) {
	if *field == 0 {
		*field = value
	}
}

// check refuses what the transport would not find: the rest it checks itself.
func (o *QPOptions) check(p *PD, info *EngineInfo) error {
	switch {
	case o.Type > UD:
		return fmt.Errorf("%w: queue pair type %d", ErrAttr, o.Type)
	case o.SendCQ == nil:
		return fmt.Errorf("%w: a queue pair needs a completion queue", ErrAttr)
	case o.SendCQ.device != p.device || o.RecvCQ.device != p.device:
		return fmt.Errorf("%w: completion queue", ErrForeign)
	case o.SRQ != nil && o.SRQ.pd != p:
		return fmt.Errorf("%w: shared receive queue", ErrForeign)
	case o.SendCQ.condition.Load() != cqOpen || o.RecvCQ.condition.Load() != cqOpen:
		return fmt.Errorf("%w: the completion queue is closed or has overflowed", ErrAttr)
	case o.SRQ != nil && o.SRQ.closed:
		return fmt.Errorf("shared receive queue: %w", ErrClosed)
	}
	return o.Conn.check(info, o.Type)
}

// config is what the transport is created with.
func (o *QPOptions) config(p *PD, l *loop, number QPN) transport.Config {
	cfg := transport.Config{
		Number: number, PD: p.id,
		SendDepth: o.SendDepth, RecvDepth: o.RecvDepth,
		MaxSendSGE: o.MaxSendSGE, MaxRecvSGE: o.MaxRecvSGE, MaxInline: plain(o.MaxInline),
		SignalAll: o.SignalAll, Memory: &l.memory, Rand: p.device.newRand(), MP: o.MP, RC: o.RC,
		Trace:       o.Trace,
		SourcePorts: p.device.info.SourcePorts,
	}
	orDefault(&cfg.RC.CatchUp, p.device.info.CatchUp)
	if o.SRQ != nil {
		cfg.Recv = o.SRQ.queue
	}
	return cfg
}
