package machine

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/braid-rdma/braid/cm/mad"
)

// Time is a monotonic instant, or a duration, in nanoseconds.
type Time int64

// Durations in nanoseconds, of Time as of time.Duration.
const (
	Millisecond = 1_000_000
	Second      = 1000 * Millisecond
)

// Never is later than every instant: what Timeout returns when nothing is armed.
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

// The device of a peer that is flooded takes what comes from an address for 14 ms in 336, and beyond
// 100,000 requests a second the peer replies to a part of them. So who is silent for FirstRetry is sent
// eagerRequests that follow each other within FirstRetry/eagerPart, 80 in a second. Not sooner: a standard
// peer that is only slow, and refuses, may listen when a copy of the request comes, and then accepts what
// nobody wants any more. Who refuses with a cookie is pressed: the next pressedRepeats, of the request and
// then of the RTU, follow each other within FirstRetry/pressedPart, for longer than until the next turn. Where
// more than eagerConns wait at once they are what the peers are flooded with.
const (
	eagerRequests  = 80
	eagerPart      = 8
	pressedRepeats = 80
	pressedPart    = 16
	eagerConns     = 16
)

// maxDelay bounds the time that a peer can gain by MRAs, by one as by all that
// it sends in a state of the connection. It is twice AcceptTimeout, so that a
// program of ours at the other end may take all of that.
const maxDelay = 60 * Second

// Bounds on what is kept for peers that have proven nothing.
const (
	// provenShare and unprovenShare are the shares of the pools' free places
	// that one address may hold: of 8192 the first is 481, more than the 256
	// requests that a braid peer has on their way at a time; of 1024 the second
	// is 341, enough for the start of a parallel program on a standard host.
	provenShare   = 16
	unprovenShare = 2
	// proofTime is how long an unproven request keeps its place in a full pool.
	// Within it an honest peer has received the REP and sent the RTU, also if each
	// was lost once. With 1024 places it bounds the rate at which a flood makes a
	// program create queue pairs in vain, to 256 a second.
	proofTime = 4 * Second
	// knownTime is how long an address stays known that has answered a probe. A
	// standard peer repeats its REQ after what Linux makes of its own times, 6.4 s.
	// maxKnown bounds their number; the oldest is forgotten for a new one.
	knownTime = 30 * Second
	maxKnown  = 1024
	// secretPeriod is the life of a secret that cookies are made with. A cookie
	// is good for one to two of them, longer than ConnectTimeout; a later one
	// is refused with a fresh one.
	secretPeriod = 20 * Second
	// ticketPeriod is that of tickets, good for ten to twenty minutes: as long as an
	// address may be taken to be whose it was. A program that restarts, or comes back to a peer that
	// it talks to now and then, is within it.
	ticketPeriod = 600 * Second
	// maxTickets bounds the tickets that are kept for requests to others.
	maxTickets = 4096
)

// Config of a machine; Rand is required, and zero elsewhere stands for the
// default.
type Config struct {
	// GUID names the adapter in messages.
	GUID uint64
	// Rand chooses identifiers, which must not be guessable on a real network:
	// they prove a peer's address. It also draws the secrets of cookies.
	Rand *rand.Rand
	// IDs is where identifiers come from, if not from all 32 bits: a random number is made one of them.
	IDs func(random uint32) mad.CommID
	// SupportsRetry says of a REQ whether its sender, refused with a cookie,
	// sends it again with that. Standard peers do not; nil: nobody does.
	SupportsRetry func(*mad.REQ) bool

	// FirstRetry is the time after which a message is repeated, default 100 ms.
	// Each repetition doubles it, up to MaxRetry, default 500 ms. The first
	// requests to a peer that says nothing follow each other six times as fast.
	FirstRetry, MaxRetry time.Duration
	// ConnectTimeout bounds the wait for the peer's answer, default 15 s. An MRA
	// of the peer extends it.
	ConnectTimeout time.Duration
	// ReadyTimeout bounds the time that a REP waits for its RTU, and the
	// repetitions of an RTU that is to be acknowledged: default 30 s. It is longer
	// than ConnectTimeout, so that a grant which arrives at the last moment still
	// leads to a connection on both sides.
	ReadyTimeout time.Duration
	// AcceptTimeout bounds the time that the program takes to answer a request
	// or a reply, default 30 s.
	AcceptTimeout time.Duration
	// CloseTimeout bounds the wait for the answer to a DREQ, default 5 s.
	CloseTimeout time.Duration
	// TimeWait is how long a connection that has ended is remembered: default
	// 1 s, which is longer than packets live in a datacenter.
	TimeWait time.Duration
	// MaxConns bounds the connections, default 65536, as many as a device has
	// queue pairs. MaxHalfOpen bounds those that peers of proven address asked
	// for and that are not established, default 8192; further requests are not
	// answered, so that a peer in earnest asks again. An eighth of it is for standard
	// peers that have answered a probe.
	MaxConns, MaxHalfOpen int
	// MaxUnproven bounds those of peers that have not proven their address,
	// default 1024: the places of standard peers, which prove it by their RTU only.
	// While there is room, braid peers are spared the round trip for a cookie.
	// Negative: none.
	MaxUnproven int
	// StrangerReplies bounds the replies to those who have proven nothing, per
	// second, default 10,000: at 4 µs each, a twenty-fifth of a processor. Of 100,000
	// forged requests a second one in ten is replied to, and as many of the honest ones among
	// them, which is why a request is repeated often at first.
	StrangerReplies int
}

// times are those of a Config, in the unit in which the machine counts.
type times struct {
	firstRetry, maxRetry                                      Time
	connectTimeout, readyTimeout, acceptTimeout, closeTimeout Time
	timeWait                                                  Time
}

func timesOf(c *Config) times {
	return times{
		firstRetry: Time(c.FirstRetry), maxRetry: Time(c.MaxRetry),
		connectTimeout: Time(c.ConnectTimeout), readyTimeout: Time(c.ReadyTimeout),
		acceptTimeout: Time(c.AcceptTimeout), closeTimeout: Time(c.CloseTimeout),
		timeWait: Time(c.TimeWait),
	}
}

func (c Config) withDefaults() Config {
	if c.IDs == nil {
		c.IDs = func(random uint32) mad.CommID { return mad.CommID(random) }
	}
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&c.FirstRetry, 100 * time.Millisecond},
		{&c.MaxRetry, 500 * time.Millisecond},
		{&c.ConnectTimeout, 15 * time.Second},
		{&c.ReadyTimeout, 30 * time.Second},
		{&c.AcceptTimeout, 30 * time.Second},
		{&c.CloseTimeout, 5 * time.Second},
		{&c.TimeWait, time.Second},
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
	if c.MaxUnproven == 0 {
		c.MaxUnproven = 1024
	}
	if c.StrangerReplies <= 0 {
		c.StrangerReplies = 10_000
	}
	return c
}
