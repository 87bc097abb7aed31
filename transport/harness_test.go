package transport

import (
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"strings"
)

// The harness runs two queue pairs over a virtual network in virtual time and
// checks the promises of the transport after every step:
//
//	scenario ──> world ──> hosts (queue pair, memory, workload)
//	                  └──> links (delay, loss, cuts …) ──> event queue
//
// harness_scenario makes a scenario from a seed, harness_network carries
// packets, harness_workload posts requests, harness_model knows what must come
// of them, harness_checks compares. harness_draws adds what fewer programs do, each
// kind in a file of its own. Everything is a function of the scenario and its
// seed, so that a failure can be replayed.

// maxSteps is far more than the longest workload needs.
const maxSteps = 500000

// world is one run of a scenario.
type world struct {
	sc     *scenario
	now    Time
	rng    *rand.Rand
	events *eventQueue
	hosts  [2]*host
	links  [2][]*link // by direction (the sender) and path
	free   []*parcel  // parcels to reuse
	second *world     // a connection whose program depends on this one's, and the other way round; nil: none
	first  *world     // of a second connection: whose events its own are among

	ending   bool // the run is over and the queue pairs are torn down
	healed   Time // when the last fault of the script ends
	steps    int
	sameTime int // steps without time passing, to notice a busy loop
	trace    *strings.Builder
	// onStep, if set, observes or disturbs a scripted run after every step.
	onStep func(w *world)
	// filter, if set, decides the fate of a packet before the links do: how many
	// copies enter the network.
	filter func(from *host, p *Packet) int
}

// host is one side: a queue pair with its memory, what it is asked to do and
// what is known of it.
type host struct {
	w      *world
	index  int
	name   string
	qp     QP
	mp     *MP // qp, if it is one
	mem    *harnessMemory
	srq    *ReceiveQueue
	packet Packet // reused for PollTransmit and HandlePacket
	work   workload
	model  model

	stalledUntil Time
	timerAt      Time // deadline for which a timer event is queued
	failed       bool // the queue pair reported an error or entered the error state
	postDue      bool // the program will look again by itself
	waits        bool // the program waits for a completion before it posts
	hungUp       bool // the program has ended its connection
	responses    int  // packets of READ responses that have left
	sourceGone   bool // the memory that messages are taken from is deregistered
	net          networkInterface
	turns        fairness
}

// promiseBroken is what a check panics with; run turns it into an error.
type promiseBroken struct{ message string }

func (w *world) fail(format string, args ...any) {
	panic(promiseBroken{fmt.Sprintf("at %v, step %d: ", w.now, w.steps) + fmt.Sprintf(format, args...)})
}

func (h *host) fail(format string, args ...any) { h.w.fail(h.name+": "+format, args...) }

func (w *world) logf(format string, args ...any) {
	if w.trace != nil {
		fmt.Fprintf(w.trace, "%12d  %s\n", int64(w.now), fmt.Sprintf(format, args...))
	}
}

func (h *host) peer() *host { return h.w.hosts[1-h.index] }

// newWorld sets up the hosts and links of a scenario, and of the second
// connection if there is one.
func newWorld(sc *scenario) *world {
	w := newConnection(sc, &eventQueue{})
	if sc.second != nil {
		w.second = newConnection(sc.second, w.events)
		w.second.first = w
	}
	w.planGates()
	for _, c := range w.connections() {
		c.open()
	}
	return w
}

// newConnection makes the two hosts of a connection, with a plan of their work.
func newConnection(sc *scenario, events *eventQueue) *world {
	w := &world{sc: sc, now: Second, rng: rand.New(rand.NewPCG(sc.seed, 2)), events: events}
	for i := range w.hosts {
		w.hosts[i] = newHost(w, i)
	}
	w.plan()
	return w
}

// connections lists the connections of a run.
func (w *world) connections() []*world {
	if w.first != nil {
		w = w.first
	}
	if w.second == nil {
		return []*world{w}
	}
	return []*world{w, w.second}
}

// open registers memory, makes the links and connects the queue pairs.
func (w *world) open() {
	sc := w.sc
	for _, h := range w.hosts {
		h.registerMemory()
	}
	for i, h := range w.hosts {
		for p := range sc.paths {
			w.links[i] = append(w.links[i], newLink(sc.links[i][p], sc.seed, uint64(i*MaxPaths+p)))
		}
		h.connect()
	}
	for _, f := range sc.faults {
		w.events.push(event{at: w.now + f.from, w: w, kind: faultBegins, fault: f})
		if f.dead {
			continue
		}
		w.healed = max(w.healed, w.now+f.until)
		w.events.push(event{at: w.now + f.until, w: w, kind: faultEnds, fault: f})
	}
}

// run drives the world until all work is done, and returns the first broken
// promise.
func (w *world) run() error {
	return w.guard(func() {
		w.runUntil(w.finished)
		for _, c := range w.connections() {
			c.checkEnd()
		}
	})
}

// guard turns the panic of a check that failed into an error.
func (w *world) guard(f func()) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case promiseBroken:
			err = fmt.Errorf("%s", r.message)
		default:
			err = fmt.Errorf("at %v, step %d: panic: %v\n%s", w.now, w.steps, r, debug.Stack())
		}
	}()
	f()
	return nil
}

// runUntil lets events happen until something is true.
func (w *world) runUntil(done func() bool) {
	for _, c := range w.connections() {
		for _, h := range c.hosts {
			h.service()
		}
	}
	for !done() {
		w.step()
	}
}

// finished says whether every request has completed.
func (w *world) finished() bool {
	for c := w; c != nil; c = c.second {
		if !c.hosts[0].work.finished() || !c.hosts[1].work.finished() {
			return false
		}
	}
	return true
}

// step lets the next event happen and serves whoever it concerns.
func (w *world) step() {
	if w.events.len() == 0 {
		w.fail("deadlock: work is outstanding, nothing is in the network and no timer runs: %v", w.describe())
	}
	e := w.events.pop()
	if e.at > w.now {
		w.now, w.sameTime = e.at, 0
	} else if w.sameTime++; w.sameTime > 100000 {
		w.fail("busy loop: time does not pass")
	}
	if w.steps++; w.steps > maxSteps {
		w.fail("livelock: %d steps and no end: %v", w.steps, w.describe())
	}
	if limit := w.limit(); w.now > limit {
		w.fail("no liveness: unfinished %v after the last fault healed: %v", w.sc.patience, w.describe())
	}
	if w.second != nil {
		w.second.now, w.second.steps = w.now, w.steps
	}
	e.w.dispatch(&e)
	if w.onStep != nil {
		w.onStep(w)
	}
}

// limit is when everything must have completed.
func (w *world) limit() (at Time) {
	for c := w; c != nil; c = c.second {
		at = max(at, c.healed, c.sc.lastPost())
	}
	return at + w.sc.patience
}

func (w *world) describe() (s string) {
	for _, c := range w.connections() {
		s += c.hosts[0].describe() + "; " + c.hosts[1].describe() + "; "
	}
	return s
}

func (w *world) dispatch(e *event) {
	switch e.kind {
	case arrives:
		h := e.host
		if h.putOff(e) {
			return
		}
		h.receive(e.parcel)
		w.release(e.parcel)
		// Packets that arrive at the same instant are one batch of the engine.
		if next := w.events.peek(); next == nil || next.at != w.now || next.kind != arrives || next.host != e.host {
			h.service()
		}
	case timerFires:
		h := e.host
		if e.at != h.timerAt || h.putOff(e) {
			return
		}
		h.timerAt = 0
		if h.qp.Timeout() <= w.now {
			w.logf("%s timer", h.name)
			h.qp.HandleTimeout(w.now)
		}
		h.service()
	case posts:
		h := e.host
		if h.putOff(e) {
			return
		}
		h.postDue = false
		h.post()
		h.service()
	case interfaceFree:
		if e.host.putOff(e) {
			return
		}
		e.host.net.resumes = false
		e.host.service()
	case faultBegins, faultEnds:
		w.applyFault(e.fault, e.kind == faultBegins)
	}
}

// putOff delays an event of a host that is stalled (SIGSTOP, a collector's
// pause): it happens when the host runs again.
func (h *host) putOff(e *event) bool {
	if h.w.now >= h.stalledUntil {
		return false
	}
	later := *e
	later.at = h.stalledUntil
	if e.kind == timerFires {
		h.timerAt = later.at
	}
	h.w.events.push(later)
	return true
}

// service does an engine's duties in their order: transmit, complete, arm.
func (h *host) service() {
	w := h.w
	for n := 0; h.interfaceOpen() && h.qp.PollTransmit(w.now, &h.packet); n++ {
		if n > 100000 {
			h.fail("PollTransmit does not end")
		}
		w.transmit(h, &h.packet)
	}
	var c Completion
	news := false
	for h.qp.PollCompletion(&c) {
		news = true
		w.logf("%s completes %v %d %v %d bytes", h.name, c.Op, c.WRID, c.Status, c.Bytes)
		h.checkCompletion(&c)
	}
	var ev Event
	for h.qp.PollEvent(&ev) {
		w.logf("%s event %v path %d", h.name, ev.Kind, ev.Path)
	}
	if h.qp.State() == Err && !w.ending {
		news = news || !h.failed
		h.failed = true
		h.checkAbandoned()
	}
	h.checkStep()
	if news {
		w.wakeWaiting()
	}
	at := h.qp.Timeout()
	if at == Never {
		h.timerAt = 0
		return
	}
	if at = max(at, w.now); at != h.timerAt {
		h.timerAt = at
		w.events.push(event{at: at, w: w, kind: timerFires, host: h})
	}
}

func (h *host) describe() string {
	c := h.qp.Counters()
	s := fmt.Sprintf("%s %v %s, timer %v, sent %d again %d timeouts %d", h.name, h.qp.State(), h.work.describe(), h.qp.Timeout(), c.PacketsSent, c.Retransmitted, c.LocalAckTimeoutErr)
	if h.mp != nil && h.mp.loss != nil {
		s += fmt.Sprintf(" una %d nxt %d end %d inflight %d window %d released %d", h.mp.out[requests].una, h.mp.out[requests].nxt, h.mp.out[requests].end, h.mp.loss.inFlight(), h.mp.gate.window(), h.mp.gate.released)
	}
	return s
}
