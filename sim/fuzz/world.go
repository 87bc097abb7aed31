package fuzz

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/braid-rdma/braid/sim"
	"github.com/braid-rdma/braid/sim/topology"
	"github.com/braid-rdma/braid/verbs"
)

const (
	// maxEvents is far more than the longest run needs, beside the retries while
	// faults last: those may go on for ever, and take less than an event in
	// faultEvent (the shortest waits for a receive are some 40 µs).
	maxEvents  = 500_000
	faultEvent = sim.Microsecond
	// auditEvery is how many events pass between two looks at the books, which
	// cost as much as a few hundred events.
	auditEvery = 4096
	// quiet is how long the network goes on when everything has completed: longer
	// than every timer, so that what is late still comes and must be harmless.
	quiet = 3 * sim.Second
	// forgotten is longer than any timer of a closed connection may still be set.
	forgotten = 1000 * sim.Second
)

// world is one run of a scenario.
type world struct {
	sc    *scenario
	graph *topology.Graph
	net   *sim.Network
	hosts []host
	talks []*talk
	chats []*chat
	// Programs of hosts, and the channels between them.
	nodes    []*node
	channels []*channel
	// Both end a key; planted bugs replace them.
	rekey, deregister func(*verbs.MR) error
	heals, deadline   sim.Time // when faults have ended, and everything must have
	events            uint64
	history           uint64 // a checksum of what programs of channels have seen, and when
	closed            bool   // nobody posts any more
	moved             [8]int // how often channels have moved, by reason
	report            [32]verbs.Completion
}

// host is what the talks of one host share.
type host struct {
	device   *verbs.Device
	cq       *verbs.CQ
	pd       *verbs.PD
	receives *sharedReceives // nil: no talk of this host shares receives
}

// promiseBroken is what a check panics with; run turns it into a Failure.
type promiseBroken struct{ message string }

func (w *world) fail(format string, args ...any) {
	panic(promiseBroken{fmt.Sprintf(format, args...)})
}

func (e *end) fail(format string, args ...any) {
	e.w.fail("talk %d, host %d: %s", e.number, e.host, fmt.Sprintf(format, args...))
}

// sabotage plants a bug in a world, to see whether it is found.
type sabotage func(*world)

// newWorld is the world of a scenario, not yet built.
func newWorld(sc *scenario) *world {
	return &world{sc: sc, heals: sc.heals(), deadline: sc.deadline(), rekey: rekeyed, deregister: (*verbs.MR).Deregister}
}

// run lets a scenario happen and returns the promise that it breaks, or nil.
func run(sc *scenario, plant sabotage) (f *Failure) {
	w := newWorld(sc)
	defer func() {
		switch r := recover().(type) {
		case nil:
		case promiseBroken:
			f = w.failure(r.message)
		default:
			f = w.failure(fmt.Sprintf("panic: %v\n%s", r, debug.Stack()))
		}
	}()
	defer w.stopPrograms()
	if err := w.build(); err != nil {
		return w.failure(fmt.Sprintf("the scenario cannot be built: %v", err))
	}
	if plant != nil {
		plant(w)
	}
	for !w.finished() {
		w.step()
	}
	w.checkEnd()
	return nil
}

// stopPrograms ends the programs of a world in which a promise was broken.
func (w *world) stopPrograms() {
	for _, n := range w.nodes {
		w.net.Kill(n.host)
	}
}

// later lets a program of a host do something after a while.
func (w *world) later(host int, after sim.Time, f func()) {
	if err := w.net.At(w.net.Now()+after, host, f); err != nil {
		w.fail("%v", err)
	}
}

// step lets one event happen and judges what came of it.
func (w *world) step() {
	if !w.hosts[0].device.Progress() {
		w.fail("deadlock: nothing is left to happen, and %s", w.unfinished())
	}
	w.events++
	w.drain()
	if w.events%auditEvery == 0 {
		w.audit(w.net.Audit())
	}
	if w.events > maxEvents+uint64(w.heals/faultEvent) {
		w.fail("livelock: %d events and no end: %s", w.events, w.unfinished())
	}
	if w.net.Now() > w.deadline {
		w.fail("no liveness: %v after the last fault has healed %s", w.deadline-w.heals, w.unfinished())
	}
}

// drain hands completions to the ends that they are for.
func (w *world) drain() {
	for i := range w.hosts {
		cq := w.hosts[i].cq
		for cq.Ready() {
			n, err := cq.Poll(w.report[:])
			if err != nil && !errors.Is(err, verbs.ErrClosed) {
				w.fail("host %d: %v", i, err)
			}
			if n == 0 {
				break
			}
			for j := range n {
				w.dispatch(i, &w.report[j])
			}
		}
	}
}

func (w *world) dispatch(host int, c *verbs.Completion) {
	number, side := int(c.WRID>>idTalkShift), 0
	if c.WRID&idSide != 0 {
		side = 1
	}
	if number >= idChats {
		w.dispatchChat(host, number-idChats, side, c)
		return
	}
	if c.WRID&idShared != 0 && w.hosts[host].receives != nil {
		w.hosts[host].receives.checkReceived(c)
		return
	}
	if number >= len(w.talks) || w.talks[number].ends[side].host != host {
		w.fail("host %d has a completion of request %#x, which is not its own", host, c.WRID)
	}
	e := w.talks[number].ends[side]
	if c.QPN != e.qp.Number() {
		e.fail("a completion of request %#x names queue pair %v", c.WRID, c.QPN)
	}
	if c.WRID&idReceive != 0 {
		e.checkReceived(c)
		return
	}
	e.checkSent(c)
}

func (w *world) finished() bool {
	for _, t := range w.talks {
		if !t.ends[0].finished() || !t.ends[1].finished() {
			return false
		}
	}
	for _, c := range w.chats {
		if !c.ends[0].finished() || !c.ends[1].finished() {
			return false
		}
	}
	for _, n := range w.nodes {
		if !n.finished() {
			return false
		}
	}
	return true
}

// unfinished says who waits for what.
func (w *world) unfinished() (s string) {
	for _, t := range w.talks {
		for _, e := range t.ends {
			if !e.finished() {
				stats := e.qp.Stats()
				s += fmt.Sprintf("talk %d host %d: %d of %d requests and %d of %d receives have completed (%v, sent %d, again %d, timeouts %d); ",
					t.number, e.host, e.completed, len(e.ops), e.recvDone, len(e.recvs), e.qp.State(), stats.PacketsSent, stats.Retransmitted, stats.LocalAckTimeoutErr)
			}
		}
	}
	for _, c := range w.chats {
		for _, e := range c.ends {
			if !e.finished() {
				s += fmt.Sprintf("chat %d host %d: %d of %d datagrams are sent; ", c.number, e.host, e.completed, len(e.ops))
			}
		}
	}
	return s + w.unfinishedChannels()
}
