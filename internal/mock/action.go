package mock

import "time"

// ActionKind is what is to be done.
type ActionKind uint8

// What is to be done.
const (
	Open   ActionKind = iota // a TCP connection, Within some time; Opened tells of its end
	Cancel                   // that attempt
	Use                      // a Link: what comes by it is the peer's. One that is not Ours is accepted before
	Refuse                   // a Link that was offered, and close it
	Close                    // a Link, when what was told is written
	Divert                   // what this side sends to a Link, or to UDP
	Tell                     // the peer a Frame, by a Link
	Probe                    // the network with a packet of this Number
	Reply                    // to a command, by its Ref
	Moved                    // tell whom it concerns
	End                      // the channel: the peer has
)

// Action is something to do. Actions are done in order.
type Action struct {
	Kind    ActionKind
	Link    Link
	Ours    bool
	Attempt uint32
	Within  time.Duration
	Number  uint32
	Ref     any
	To      Carrier
	Reason  Reason
	Err     error

	frame    [FrameLen]byte
	frameLen int
}

// Frame is what to tell.
func (a *Action) Frame() []byte { return a.frame[:a.frameLen] }

func (m *Machine) do(a Action) { m.actions.Push(a) }

// Poll returns the next action.
func (m *Machine) Poll() (Action, bool) { return m.actions.Pop() }
