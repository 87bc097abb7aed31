package braid

import (
	"context"
	"fmt"

	"github.com/braid-rdma/braid/internal/mock"
	"github.com/braid-rdma/braid/internal/sched"
)

// Mock says whether the channels of a context may move to TCP.
type Mock uint8

const (
	// MockAuto lets a channel move to TCP when UDP does not reach the peer, and back when it
	// does, as well as on command; the default.
	MockAuto Mock = iota
	// MockOff keeps channels on UDP. The context does not listen on TCP.
	MockOff
	// MockTCP has every channel go by TCP, as SetCarrier commands with CarrierTCP, where the peer offers it.
	MockTCP
	// MockUDP keeps channels on UDP, as CarrierUDP does, but they are able to go by TCP.
	MockUDP
)

var mockNames = [...]string{MockAuto: "auto", MockOff: "off", MockTCP: "tcp", MockUDP: "udp"}

// carrier is what channels are commanded to.
func (m Mock) carrier() Carrier {
	switch m {
	case MockTCP:
		return CarrierTCP
	case MockUDP:
		return CarrierUDP
	}
	return CarrierAuto
}

func (m Mock) String() string {
	if int(m) < len(mockNames) {
		return mockNames[m]
	}
	return fmt.Sprintf("mock %d", uint8(m))
}

// MarshalText implements encoding.TextMarshaler.
func (m Mock) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (m *Mock) UnmarshalText(text []byte) error {
	for i, name := range mockNames {
		if name == string(text) {
			*m = Mock(i)
			return nil
		}
	}
	return fmt.Errorf("want %q", mockNames)
}

// Carrier is what carries the packets of a channel.
type Carrier uint8

const (
	// CarrierAuto is UDP, or TCP while UDP does not reach the peer.
	CarrierAuto = Carrier(mock.Auto)
	// CarrierUDP is RoCEv2 over UDP.
	CarrierUDP = Carrier(mock.UDP)
	// CarrierTCP is the same packets through a TCP connection.
	CarrierTCP = Carrier(mock.TCP)
)

func (c Carrier) String() string {
	switch c {
	case CarrierAuto:
		return "auto"
	case CarrierUDP:
		return "UDP"
	case CarrierTCP:
		return "TCP"
	}
	return fmt.Sprintf("carrier %d", uint8(c))
}

// MoveReason is why a channel has moved from one carrier to the other.
type MoveReason uint8

const (
	// MovedOnCommand is by SetCarrier at this end.
	MovedOnCommand = MoveReason(mock.OnCommand)
	// MovedBySilence is because nothing has come from the peer though it was asked.
	MovedBySilence = MoveReason(mock.BySilence)
	// MovedByPeer is because the peer has moved, for a reason of its own.
	MovedByPeer = MoveReason(mock.ByPeer)
	// MovedBack is because UDP reaches the peer again.
	MovedBack = MoveReason(mock.Back)
	// MovedByBrokenTCP is because the TCP connection has ended, or carries nothing.
	MovedByBrokenTCP = MoveReason(mock.ByBrokenTCP)
)

func (r MoveReason) String() string {
	switch r {
	case 0:
		return "not moved"
	case MovedOnCommand:
		return "on command"
	case MovedBySilence:
		return "the peer was silent"
	case MovedByPeer:
		return "the peer has moved"
	case MovedBack:
		return "UDP works again"
	case MovedByBrokenTCP:
		return "TCP does not work"
	}
	return fmt.Sprintf("reason %d", uint8(r))
}

// Move is what happened when the packets that a channel sends changed their carrier.
type Move struct {
	Channel *Channel
	To      Carrier // CarrierUDP or CarrierTCP
	Reason  MoveReason
	Err     error // of the TCP connection, if that is why
}

// SetCarrier says what is to carry the packets of the channel, and the peer's as far as it has no
// command of its own. It returns when this side has moved; if ctx ends before, it may still do so. Nothing is lost or
// repeated by a move: the queue pair and all that is on its way stay as they are (X-RDMA §VI-C, Mock).
func (ch *Channel) SetCarrier(ctx context.Context, c Carrier) error {
	if err := ch.Err(); err != nil {
		return err
	}
	if ch.fallback == nil {
		return ch.noTCP()
	}
	if c > CarrierTCP {
		return fmt.Errorf("%w: %v", ErrConfig, c)
	}
	done := ch.fallback.command(c)
	if err, replied := sched.Receive(ctx, ch.context.runtime, done, nil); replied {
		return err
	}
	return ctx.Err()
}

// noTCP says why a channel has no TCP.
func (ch *Channel) noTCP() error {
	switch {
	case ch.context.Config().Mock == MockOff:
		return fmt.Errorf("%w: Config.Mock is off", ErrNoTCP)
	case ch.context.streams == nil:
		return ch.context.engineHasNoTCP()
	}
	return fmt.Errorf("%w: the peer offers none", ErrNoTCP)
}

func (c *Context) engineHasNoTCP() error {
	return fmt.Errorf("%w: engine %s cannot send packets that way", ErrNoTCP, c.engine.Info().Name)
}

// OnMove has f called, in a goroutine of its own, whenever a channel of the context has moved; nil: nobody.
// The calls for one channel come one after the other. The next move waits for them, and so do SetCarrier and the
// context's Close, which f must not call.
func (c *Context) OnMove(f func(Move)) { c.onMove.Store(&f) }

func (c *Context) reportMove(m Move) {
	if f := c.onMove.Load(); f != nil && *f != nil {
		(*f)(m)
	}
}
