package sim

// The watchdog of a switch looks at queues that PFC has stopped for long. A pause
// of congestion ends within milliseconds; one that does not comes from a broken
// NIC or from a deadlock, and spreads until the network stands still ("RDMA over
// commodity Ethernet at scale", SIGCOMM '16, §4.3). The watchdog reports it, and
// lets the queue go: until XON comes its packets are sent to nobody, so that
// what waits behind them moves again.

// Storm is one report of a watchdog.
type Storm struct {
	Link     string // the direction that was stopped, named as in LinkResult
	Priority int
	Since    Time // when it was stopped
	Reported Time
	Ended    Time // when XON came; not yet: negative
}

// Storms returns the reports of all watchdogs so far, link by link.
func (n *Network) Storms() (all []Storm) {
	for _, lane := range n.lanes {
		if lane.rare != nil {
			all = append(all, lane.rare.storms...)
		}
	}
	return all
}

// rarely is what few egresses have.
type rarely struct {
	storms  []Storm
	pauses  [priorities]pauseTimer
	expired uint64 // pauses that no XON ended
	// receiver is what waits in a host's NIC that is slow; nil: it is not.
	receiver *receiveBuffer
	// spoil, if set, decides which PFC frames are lost; tests of the fuzzer set it.
	spoil func(kind pauseFrame) bool
}

// extras is room for what few egresses have.
func (e *egress) extras() *rarely {
	if e.rare == nil {
		e.rare = &rarely{}
	}
	return e.rare
}

// watch looks again at a pause that has just begun when it has lasted too long.
func (e *egress) watch(priority uint8) {
	sw := e.ingress().sw // whose egress it is
	if sw == nil || sw.cfg.PFC.Watchdog == 0 {
		return
	}
	since := e.pausedAt[priority]
	e.node.call(since+sw.cfg.PFC.Watchdog, func() {
		bit := uint8(1) << priority
		if e.paused&bit == 0 || e.pausedAt[priority] != since || e.waiting&bit == 0 {
			return
		}
		rare := e.extras()
		rare.storms = append(rare.storms, Storm{Link: e.name, Priority: int(priority), Since: since, Reported: e.node.now(), Ended: -1})
		e.letGo(priority)
	})
}

// letGo sends the packets of a stopped priority to nobody until XON.
func (e *egress) letGo(priority uint8) {
	if e.fault == nil {
		e.fault = &fault{}
	}
	bit := uint8(1) << priority
	e.fault.discard |= bit
	e.paused &^= bit
	e.pausedFor += e.node.now() - e.pausedAt[priority]
	e.start()
}

// letsGo says whether a priority, given as a bit, is sent to nobody.
func (e *egress) letsGo(bit uint8) bool { return e.fault != nil && e.fault.discard&bit != 0 }

// takeBack ends what letGo began.
func (e *egress) takeBack(priority uint8) {
	bit := uint8(1) << priority
	if !e.letsGo(bit) {
		return
	}
	e.fault.discard &^= bit
	for i := range e.rare.storms {
		if s := &e.rare.storms[i]; s.Priority == int(priority) && s.Ended < 0 {
			s.Ended = e.node.now()
		}
	}
}
