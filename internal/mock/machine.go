// Package mock decides what carries the packets that one side of a channel sends: UDP, or a TCP connection
// while UDP does not reach the peer (X-RDMA §VI-C, Mock). It has no I/O, clock or goroutine.
//
//	UDP ── silence, command, the peer has moved ──> TCP
//	UDP <── probes arrive, command, TCP is broken ── TCP
//
//	Command, Silent, Probed, Heard, Offer, Opened, LinkEnded, HandleTimeout ──> Machine ──> Poll: actions
//
// The packets of either side move by themselves, so the two sides need not agree on a moment; what arrives is
// taken from both carriers at any time.
package mock

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/braid-rdma/braid/internal/fifo"
)

// Never is a time that does not come. Times are counted from any moment.
const Never time.Duration = math.MaxInt64

// Carrier is what a command wants.
type Carrier uint8

// Auto is UDP, or TCP while UDP does not reach the peer.
const (
	Auto Carrier = iota
	UDP
	TCP
)

func (c Carrier) String() string { return [...]string{"auto", "UDP", "TCP"}[c] }

// Reason is why this side has moved.
type Reason uint8

// Why this side has moved.
const (
	OnCommand   Reason = iota + 1
	BySilence          // nothing has come from the peer though it was asked
	ByPeer             // the peer has moved, for a reason of its own
	Back               // UDP reaches the peer again
	ByBrokenTCP        // the TCP connection has ended, or carries nothing
)

// Link is a TCP connection to the peer, as the driver knows it; nil: none.
type Link any

// Machine is one side of a channel.
type Machine struct {
	dialled  bool          // this side has dialled the channel
	patience time.Duration // until the queue pair gives up
	actions  fifo.Queue[Action]

	mode       Carrier // what was commanded
	onTCP      bool
	doubtAt    time.Duration // when silence means that a peer which was told to send by TCP cannot; Never: it left TCP, and was not told again
	peerOnTCP  bool
	peerAt     time.Duration // when it said so
	peerPinned bool          // by a command at the peer
	link       Link
	linkOurs   bool // this side has opened it
	linkedAt   time.Duration
	attempts   uint32 // to open a connection
	opening    uint32 // the one that is under way; 0: none
	forSilence bool   // it is because the peer is silent; else a command wants it
	commands   []any  // that wait for TCP
	at         time.Duration
	retry      time.Duration
	probing    probing
}

// New makes a machine whose channel is on UDP. The side that has dialled the channel has its way where both
// open a connection; patience is the time after which the queue pair gives its peer up.
func New(dialled bool, patience time.Duration) *Machine {
	return &Machine{dialled: dialled, patience: patience, at: Never, probing: probing{back: Never}}
}

const (
	// openingShare is the part of the patience after which an attempt to open a connection is given
	// up: one that hangs leaves time for another before the queue pair gives up.
	openingShare = 3
	minOpening   = 250 * time.Millisecond
	// firstRetry and lastRetry are the pauses between attempts while TCP is commanded.
	firstRetry = 100 * time.Millisecond
	lastRetry  = 5 * time.Second
)

var (
	errSilentTCP = errors.New("nothing comes through the TCP connection")
	errLeft      = errors.New("the peer has left the TCP connection")
	errReplaced  = errors.New("the peer has opened another TCP connection")
)

// OnTCP says whether this side sends by TCP.
func (m *Machine) OnTCP() bool { return m.onTCP }

// Opening is the attempt to open a connection that is under way; 0: none.
func (m *Machine) Opening() uint32 { return m.opening }

// Resting says whether nothing is to be done until the next input.
func (m *Machine) Resting() bool {
	return m.link == nil && m.opening == 0 && m.at == Never && m.actions.Len() == 0
}

// Timeout is when HandleTimeout is to be called.
func (m *Machine) Timeout() time.Duration { return m.at }

// HandleTimeout sends a probe, or tries TCP again.
func (m *Machine) HandleTimeout(now time.Duration) {
	if now < m.at {
		return
	}
	m.at = Never
	switch {
	case m.onTCP:
		m.probe(now)
	case m.mode == TCP && m.link == nil:
		m.open(false)
	}
}

// Command is the wish for a carrier. A reply to its ref follows, at once or when there is a TCP connection or
// none to be had.
func (m *Machine) Command(now time.Duration, c Carrier, ref any) {
	switch c {
	case TCP:
		m.commands = append(m.commands, ref)
		if m.link != nil {
			m.commanded(now)
		} else {
			m.open(false)
		}
		return
	case UDP:
		m.mode, m.at = c, Never
		m.overruled(c)
		if m.onTCP {
			m.moveToUDP(OnCommand, nil)
		}
	case Auto:
		m.mode = c
		m.overruled(c)
		if m.onTCP {
			m.tellOnTCP()
			m.startProbing(now)
		}
	}
	m.do(Action{Kind: Reply, Ref: ref})
}

// End is the end of the channel. Whoever waits is told why, and the peer that it is closed.
func (m *Machine) End(why error) {
	m.cancel()
	m.reply(why)
	if m.link != nil {
		m.tell(frameBye)
		m.close(m.link)
		m.link = nil
	}
	m.at = Never
}

// overruled ends the commands that wait for TCP when another has come.
func (m *Machine) overruled(by Carrier) {
	m.reply(fmt.Errorf("another command has come: %v", by))
}

// commanded ends the commands that wait for TCP, which is there.
func (m *Machine) commanded(now time.Duration) {
	m.mode, m.at = TCP, Never
	if m.onTCP {
		m.tellOnTCP() // from now on by command
	} else {
		m.moveToTCP(now, OnCommand)
	}
	m.reply(nil)
}

// reply ends the commands that wait for TCP.
func (m *Machine) reply(err error) {
	for _, ref := range m.commands {
		m.do(Action{Kind: Reply, Ref: ref, Err: err})
	}
	m.commands = nil
}

// Silent is what to do when nothing comes from the peer though it was asked.
func (m *Machine) Silent(now time.Duration) {
	switch {
	case m.onTCP && (m.peerOnTCP || now >= m.doubtAt):
		// Both send by TCP, or the peer was told twice to do so, and nothing comes: UDP may be better.
		m.closeLink(now, ByBrokenTCP, errSilentTCP)
	case m.onTCP:
		m.do(Action{Kind: Divert, Link: m.link}) // silence is counted anew
		m.tellOnTCP()                            // what the peer sends by UDP does not arrive
		// A peer that has returned to UDP, and was idle since, does not know that UDP fails again.
		m.doubtAt = min(m.doubtAt, now+m.patience/4)
	case m.mode == UDP && m.link == nil:
		m.leave()
	case m.mode == UDP:
		if !m.fresh(now, max(m.linkedAt, m.peerAt)) {
			m.closeLink(now, ByBrokenTCP, errSilentTCP) // what the peer sends is in there
		}
	case m.link != nil:
		m.moveToTCP(now, BySilence)
	default:
		m.leave() // each time: the peer does not believe the first where its connection is new
		m.open(true)
	}
}

// fresh says whether something is so new that silence does not count against it.
func (m *Machine) fresh(now, since time.Duration) bool { return now-since < m.patience/4 }

// moveToTCP sends by TCP from now on, and has the peer do so too.
func (m *Machine) moveToTCP(now time.Duration, why Reason) {
	m.do(Action{Kind: Divert, Link: m.link})
	m.doubtAt = now + m.patience*5/8
	if why != OnCommand && !m.peerPinned {
		m.probing.failed(now, m.patience)
	}
	m.onTCP, m.at = true, Never // there is nothing to try again
	m.do(Action{Kind: Moved, To: TCP, Reason: why})
	m.tellOnTCP()
	m.startProbing(now)
}

// moveToUDP sends by UDP from now on. If the peer does too, TCP is no longer needed.
func (m *Machine) moveToUDP(why Reason, err error) {
	m.do(Action{Kind: Divert})
	m.at, m.onTCP = Never, false
	m.do(Action{Kind: Moved, To: UDP, Reason: why, Err: err})
	if m.link != nil {
		m.tell(frameUDP, flagIf(why == OnCommand))
		m.closeIfUnused()
	}
}
