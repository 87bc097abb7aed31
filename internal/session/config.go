package session

import (
	"cmp"
	"errors"
	"time"
)

// ErrPeer is what the peer did that an honest one does not. It ends the channel.
var ErrPeer = errors.New("braid: the peer broke the protocol")

// Reserve is how many receives are kept for control frames: two that either side may
// send at any time, and one to make room for more when the other has sent two.
const Reserve = 3

// Config of a session; zero stands for the default.
type Config struct {
	// MinWindow and MaxWindow bound the messages that the peer may have on their
	// way, default 4 and 64. A channel begins with the first and doubles it whenever
	// the peer has used it up.
	MinWindow, MaxWindow int
	// MaxCalls bounds the calls that wait for a response, default 128; further ones are not sent.
	MaxCalls int
	// MaxMessage bounds the payload of a message, default 1 GiB.
	MaxMessage int
	// AckEvery is after how many received messages an acknowledgement goes out by itself,
	// default 16; AckDelay after which time, default 2 ms.
	AckEvery int
	AckDelay time.Duration
	// NopAfter is how long sending waits for the peer's window before the peer is
	// asked, default 20 ms.
	NopAfter time.Duration
	// Epoch is what the clock shows at the driver's time zero: traces tell times by that clock.
	Epoch time.Duration
}

func (c Config) withDefaults() Config {
	c.MinWindow = cmp.Or(c.MinWindow, 4)
	c.MaxWindow = min(cmp.Or(c.MaxWindow, 64), maxWindow)
	c.MinWindow = min(c.MinWindow, c.MaxWindow)
	c.MaxCalls = cmp.Or(c.MaxCalls, 128)
	c.MaxMessage = cmp.Or(c.MaxMessage, 1<<30)
	c.AckEvery = cmp.Or(c.AckEvery, 16)
	c.AckDelay = cmp.Or(c.AckDelay, 2*time.Millisecond)
	c.NopAfter = cmp.Or(c.NopAfter, 20*time.Millisecond)
	return c
}
