package braid

import (
	"cmp"
	"time"

	"github.com/braid-rdma/braid/internal/session"
	"github.com/braid-rdma/braid/verbs"
)

// Config of a context; the zero value is the default.
type Config struct {
	// Device is what the context works on, and it stays open after it. Nil: a
	// device on this host's addresses, which the context opens and closes.
	Device *verbs.Device
	// SinglePath makes connections of standard queue pairs (RC) instead of
	// multi-path ones.
	SinglePath bool
	// Policy chooses the path of each packet of multi-path connections, and Control owns their window: names of
	// docs/policies.md, default ack-clock and mp-rdma.
	Policy, Control string
	// Background is for a program that polls the device itself, beside the context:
	// goroutines that wait for messages leave the device to it, and are told of them
	// some microseconds later.
	Background bool
	// SmallMessage is up to which length a message travels in one operation,
	// default 4096 (X-RDMA §IV-C). A channel uses the smaller of both ends' values.
	SmallMessage int
	// MaxMessage is the longest message that is received, default 1 GiB.
	MaxMessage int
	// Window is how many messages a peer may have on their way to this side's
	// application, default 64. A channel begins with four and gets more as it uses them.
	Window int
	// Calls is how many calls of a channel may wait for a response, and how many messages of one
	// may be with handlers, or have a large response that the peer has not read, default 128. Further ones wait, and so in the end does their sender.
	Calls int
	// Fragment is the unit in which large messages are read, default 64 KiB (§V-C); Fragments is
	// how many a context has outstanding, default 64, and FragmentsBeside how many while small
	// messages come as well, which would wait behind them, default 1. One READ is for one of them then, and
	// for up to eight where nothing small comes. One-sided operations are cut into fragments too.
	Fragment, Fragments, FragmentsBeside int
	// Memory is how much the large messages of all channels may take that have not reached
	// the application, default 1 GiB. Others wait; the longest message always fits. Memory that is not
	// used is kept for later ones, but no more than makes up this sum.
	Memory int
	// Keepalive is the silence after which a peer is asked whether it lives, by a WRITE
	// of no bytes (§V-A); 1 ms to a day, default 10 s, negative: never.
	Keepalive time.Duration
	// Patience is how long a peer may be silent when something was sent to it, 10 ms to 19.5 hours, default 4.3 s.
	// It becomes the next longer of the times that RDMA knows, which are powers of two.
	Patience time.Duration
	// Linger is how long Close waits for the peer's application to receive what was
	// sent, up to a day, default 5 s; negative: not at all.
	Linger time.Duration
	// QPCache is how many queue pairs of channels that have ended wait for later ones (§IV-E), at
	// about 50 KiB each; default 64, negative: none. Without it Dial also forgoes the ticket by which
	// a peer knows the address of a context that it was connected to.
	QPCache int
	// Mock says whether channels may move to TCP when UDP does not reach the peer (§VI-C), or are to at once,
	// default MockAuto. Both ends have to agree, in that neither has MockOff.
	Mock Mock
	// MockPort is the TCP port of the context, on which its peers open connections for that; default a free
	// one. They are told.
	MockPort int
	// Channels is how many there may be, default 1024. Together with Window it decides the
	// size of the completion queue.
	Channels int
	// Trace is which messages of the context are traced (§VI-A), default none: see TraceMode.
	Trace TraceMode
	// TraceMask chooses among them: a message is sampled if its number on the channel has none of the
	// bits of the mask, so that 0 is all of them and 1023 one in 1024.
	TraceMask int
	// SlowThreshold is how long a phase of a traced message may take before it is told as slow, up to a day, default
	// 10 ms; negative: no phase is.
	SlowThreshold time.Duration
	// PollingWarn is how long the goroutine that polls the device for all may be away from it, in
	// a handler or at other work, before it is told, up to a day; default 0: it is not measured.
	PollingWarn time.Duration
	// Log is what the context tells the default logger of package slog, default nothing: see LogLevel.
	Log LogLevel
	// NoStats keeps the statistics of the context to this process; else other processes of the
	// same user can read them (see Published).
	NoStats bool
	// NoOperator leaves the socket away by which an operator of the same user looks at the context and
	// changes its parameters (package operate, `braid why`, `braid adm`).
	NoOperator bool
	// Labels are by what operators choose among programs, such as rack=3,role=db.
	Labels string
	// DebugMemory finds wrong uses of the memory of messages: writes beyond its ends and after it was released,
	// and messages that are released twice. It panics with a *MemoryError, which says where. It
	// costs time and memory. The environment's BRAID_DEBUG_MEMORY turns it on as well, in any program.
	DebugMemory bool
}

// The path policy and the congestion control of the paper, which queue pairs have where none is named.
const defaultPolicy, defaultControl = "ack-clock", "mp-rdma"

// chosen are the options of multi-path queue pairs: what is not the default.
func (c *Config) chosen() (o verbs.MPOptions, err error) {
	policy, control := c.Policy, c.Control
	if policy == defaultPolicy {
		policy = ""
	}
	if control == defaultControl {
		control = ""
	}
	return o, o.Choose(policy, control)
}

// withDefaults fills in what is left at zero. The error tells all that is wrong.
func (c Config) withDefaults() (Config, error) {
	c.Policy, c.Control = cmp.Or(c.Policy, defaultPolicy), cmp.Or(c.Control, defaultControl)
	c.SmallMessage = cmp.Or(c.SmallMessage, 4096)
	c.MaxMessage = cmp.Or(c.MaxMessage, maxMessage)
	c.Window = cmp.Or(c.Window, 64)
	c.Calls = cmp.Or(c.Calls, 128)
	c.Fragment = cmp.Or(c.Fragment, 64<<10)
	c.Fragments = cmp.Or(c.Fragments, 64)
	c.FragmentsBeside = cmp.Or(c.FragmentsBeside, 1)
	c.Memory = cmp.Or(c.Memory, 1<<30)
	c.Keepalive = cmp.Or(c.Keepalive, verbs.DefaultKeepalive)
	c.Patience = cmp.Or(c.Patience, (retries+1)*verbs.AckTimeoutOf(17)) // also of single-path queue pairs, whose own is an eighth
	c.Linger = cmp.Or(c.Linger, 5*time.Second)
	c.QPCache = max(cmp.Or(c.QPCache, defaultQPCache), noQPCache)
	c.Channels = cmp.Or(c.Channels, 1024)
	c.SlowThreshold = cmp.Or(c.SlowThreshold, 10*time.Millisecond)
	err := c.check()
	c.FragmentsBeside = min(c.FragmentsBeside, c.Fragments)
	return c, err
}

// session is what a channel's protocol is told.
func (c *Config) session() session.Config {
	return session.Config{MinWindow: minWindow, MaxWindow: c.Window, MaxCalls: c.Calls, MaxMessage: c.MaxMessage}
}

// frameSize is the length of a slot, in whole cache lines.
func (c *Config) frameSize() int { return (session.MaxHeader + c.SmallMessage + 63) &^ 63 }

// receiveDepth and sendDepth are the operations that a channel may have outstanding: the window,
// control frames and responses; those, READs, and sends that have not told their completion.
func (c *Config) receiveDepth() int { return c.Window + session.Reserve + c.Calls }

func (c *Config) sendDepth() int {
	return c.Window + session.Reserve + c.Calls + readsPerChannel + 2*signalEvery
}

// operations is how many completions a channel can have at a time.
func (c *Config) operations() int { return c.receiveDepth() + c.sendDepth() }
