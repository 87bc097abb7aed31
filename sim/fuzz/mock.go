package fuzz

import (
	"context"
	"errors"
	"fmt"

	"github.com/braid-rdma/braid"
	"github.com/braid-rdma/braid/sim"
)

// Mock moves the packets of channels between UDP and streams. Programs notice nothing, but that a channel
// does not end while either works; commands have the effect that they say.

// slack is more than a stream needs to notice that it works again.
const slack = 10 * sim.Millisecond

// failStreams enters what is wrong with streams.
func (w *world) failStreams() error {
	if w.sc.mock == nil {
		return nil
	}
	for _, f := range w.sc.mock.faults {
		a, b := f.hosts[0], f.hosts[1]
		if w.sc.contexts[a].dies > 0 || w.sc.contexts[b].dies > 0 {
			continue // their faults end with them
		}
		err := errors.Join(w.net.ImpairStreams(f.from, a, b, f.kind), w.net.ImpairStreams(f.until, a, b, sim.StreamsWork))
		if !f.oneWay {
			err = errors.Join(err, w.net.ImpairStreams(f.from, b, a, f.kind), w.net.ImpairStreams(f.until, b, a, sim.StreamsWork))
		}
		if f.breaks {
			err = errors.Join(err, w.net.BreakStreams(f.from, a, b))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// severStreams ends all that streams of a host send and receive, for good.
func (w *world) severStreams(at sim.Time, host int) (err error) {
	for other := range w.hosts {
		if other != host && w.sc.mock != nil {
			err = errors.Join(err, w.net.ImpairStreams(at, host, other, sim.StreamsStall), w.net.ImpairStreams(at, other, host, sim.StreamsStall))
		}
	}
	return err
}

// noteMoves adds what Mock does to the history of the world.
func (n *node) noteMoves() {
	n.context.OnMove(func(m braid.Move) {
		for _, e := range n.ends {
			if e.ch == m.Channel {
				e.note(aMove, int(m.To)<<8|int(m.Reason), m.Err)
				e.w.moved[m.Reason]++
			}
		}
	})
}

// obey is the goroutine of an end that commands carriers.
func (e *channelEnd) obey() {
	for _, command := range e.commands {
		if command.side != e.side {
			continue
		}
		e.node.sleepUntil(command.at)
		began, known := e.w.net.Now(), e.peer().ch != nil
		err := e.ch.SetCarrier(context.Background(), command.carrier)
		e.note(aMove, int(command.carrier), err)
		e.checkCommand(command.carrier, began, known, err)
		if err == nil {
			e.wanted = command.carrier
		}
	}
}

// checkCommand checks that a command has succeeded, if it could: a peer that did not know the channel
// when it began may have learnt of it too late.
func (e *channelEnd) checkCommand(c braid.Carrier, began sim.Time, known bool, err error) {
	sound := e.canMove() && !e.troubled(began) && !e.mourned() && known && !e.peer().left()
	switch {
	case err == nil && !e.canMove():
		e.fail("a channel without TCP was commanded to %v", c)
	case err == nil && (c == braid.CarrierUDP || c == braid.CarrierTCP && sound):
		if s := e.ch.Stats(); s.OnTCP != (c == braid.CarrierTCP) && e.ch.Err() == nil {
			e.fail("the command %v has succeeded, and the channel is on TCP %v", c, s.OnTCP)
		}
	case err == nil || e.gone(err):
	case !errors.Is(err, braid.ErrNoTCP) || sound || e.canMove() && c != braid.CarrierTCP:
		e.fail("the command %v: %v", c, err)
	}
}

// left says whether the channel has ended at this end, or is being closed.
func (e *channelEnd) left() bool { return e.closing || e.ended || e.ch != nil && e.ch.Err() != nil }

func (e *channelEnd) canMove() bool { return e.w.sc.canMove(e.channelSpec) }

// mourned says whether a host of the channel dies.
func (e *channelEnd) mourned() bool { return e.w.sc.mourns(e.number) }

// troubled says whether the streams of the channel have not worked at some time since began.
func (e *channelEnd) troubled(began sim.Time) bool {
	for _, f := range e.w.sc.mock.faults {
		if f.concerns(e.hosts) && f.from <= e.w.net.Now() && began <= f.until+slack {
			return true
		}
	}
	return false
}

// returnToCarrier waits until the channel uses the carrier that it is to use when all works.
func (e *channelEnd) returnToCarrier() {
	if !e.returns || !e.canMove() {
		return
	}
	e.node.sleepUntil(e.w.heals)
	for limit := e.w.net.Now() + e.w.sc.mock.returnBound(); e.alive() && e.astray() != ""; {
		if e.w.net.Now() > limit {
			e.fail("all works for %v, and %s", e.w.sc.mock.returnBound(), e.astray())
		}
		e.node.sleep(100 * sim.Millisecond)
	}
	e.returned = true
	e.wakePeer()
	e.node.wait(func() bool { return e.peer().returned || e.peer().ended || !e.alive() })
}

// alive says whether nobody ends the channel.
func (e *channelEnd) alive() bool { return e.ch.Err() == nil && !e.closing && !e.peer().closing }

// astray says what is wrong with the carrier of this end.
func (e *channelEnd) astray() string {
	onTCP := e.ch.Stats().OnTCP
	switch {
	case e.wanted == braid.CarrierTCP && !onTCP:
		return "the channel is not on TCP, which was commanded"
	case e.wanted == braid.CarrierUDP && onTCP, e.wanted == braid.CarrierAuto && e.peer().wanted != braid.CarrierTCP && onTCP:
		return fmt.Sprintf("the channel is not back on UDP: it is commanded to %v, the peer to %v", e.wanted, e.peer().wanted)
	}
	return ""
}

// checkStreams checks that a context has left no connection.
func (n *node) checkStreams() {
	if left := n.w.net.OpenStreams(n.host); left != 0 {
		n.w.fail("host %d: %d streams are left of a context", n.host, left)
	}
}
