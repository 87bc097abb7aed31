package machine

import (
	"math"
	"math/rand/v2"

	"github.com/braid-rdma/braid/cm/mad"
)

// Time is a monotonic instant, or a duration, in nanoseconds.
type Time int64

// Durations in the unit of Time.
const (
	Millisecond Time = 1_000_000
	Second           = 1000 * Millisecond
)

// Never is later than every instant: what Timeout answers when nothing is armed.
const Never Time = math.MaxInt64

// amplification is how many bytes may go to an address that is not proven, for
// each byte that came from it. All datagrams have one length, so that counting
// them counts bytes.
const amplification = 3

// statedTimeout is the time within which we tell peers to answer, and within
// which we answer: 134 ms. Standard peers repeat a REP that often, so it
// decides how soon a lost one is made good.
const statedTimeout mad.Interval = 15

// statedRetries is the most that the field of a REQ can say. Our own
// repetitions are bounded by time instead: under heavy loss, sixteen are too few.
const statedRetries = 15

// maxDelay bounds the time for which a peer can ask us to wait by MRA.
const maxDelay = 60 * Second

// Config of a machine; Rand is required, and zero elsewhere stands for the
// default.
type Config struct {
	// GUID names the adapter in messages.
	GUID uint64
	// Rand chooses identifiers, which must not be guessable on a real network:
	// they prove a peer's address.
	Rand *rand.Rand

	// FirstRetry is the time after which a message is repeated, default 100 ms.
	// Each repetition doubles it, up to MaxRetry, default 500 ms.
	FirstRetry, MaxRetry Time
	// ConnectTimeout bounds the wait for the peer's answer, default 15 s. An MRA
	// of the peer extends it.
	ConnectTimeout Time
	// ReadyTimeout bounds the time that a REP waits for its RTU, and the
	// repetitions of an RTU that is to be acknowledged: default 30 s. It is longer
	// than ConnectTimeout, so that a grant which arrives at the last moment still
	// leads to a connection on both sides.
	ReadyTimeout Time
	// AcceptTimeout bounds the time that the program takes to answer a request
	// or a reply, default 30 s.
	AcceptTimeout Time
	// CloseTimeout bounds the wait for the answer to a DREQ, default 5 s.
	CloseTimeout Time
	// TimeWait is how long a connection that has ended is remembered: default
	// 1 s, which is longer than packets live in a datacenter.
	TimeWait Time
	// MaxConns bounds the connections, default 65536, as many as a device has
	// queue pairs. MaxHalfOpen bounds those that peers asked for and that are
	// not established, default 8192; further requests are not answered, so that
	// a peer in earnest asks again.
	MaxConns, MaxHalfOpen int
}

func (c Config) withDefaults() Config {
	for _, d := range []struct {
		field *Time
		value Time
	}{
		{&c.FirstRetry, 100 * Millisecond},
		{&c.MaxRetry, 500 * Millisecond},
		{&c.ConnectTimeout, 15 * Second},
		{&c.ReadyTimeout, 30 * Second},
		{&c.AcceptTimeout, 30 * Second},
		{&c.CloseTimeout, 5 * Second},
		{&c.TimeWait, Second},
	} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	if c.MaxConns == 0 {
		c.MaxConns = 1 << 16
	}
	if c.MaxHalfOpen == 0 {
		c.MaxHalfOpen = 8192
	}
	return c
}
