package sim

// A PFC frame stops a priority of the peer for a time, which it gives in quanta of
// 512 bits (IEEE 802.1Qbb, 802.3 annex 31B). Who wants the peer to stay stopped says
// so again before the time is over; so a frame that is lost does harm for a while and
// not for ever.

const (
	// quantumBits is the unit of pause times, in bits at the rate of the link.
	quantumBits = 512
	// LongestPause is the longest pause that a frame can ask for, and what switches ask
	// for by custom: 3.4 ms at 10 Gb/s.
	LongestPause = 65535
	// EndlessPause as PFC.Quanta makes pauses last until XON.
	EndlessPause = -1
)

// pauseFrameSize is the smallest Ethernet frame with its preamble and gap.
const pauseFrameSize = 84

// quanta is the pause that the frames of a switch ask for; 0: until XON.
func (c *PFC) quanta() uint16 {
	switch c.Quanta {
	case 0:
		return LongestPause
	case EndlessPause:
		return 0
	}
	return uint16(c.Quanta)
}

// pauseTime is how long a pause lasts on the link. The rate is the one that both
// ends know, also when a fault slows one direction down.
func (e *egress) pauseTime(quanta uint16) Time {
	return Time(quanta) * (quantumBits * Second / Time(e.nominal))
}

// control sends a PFC frame to the peer, ahead of everything but the packet that is
// being sent. The frame takes its time on the link, and the peer its own to react: until
// then it sends on.
func (e *egress) control(kind pauseFrame, priority uint8, quanta uint16) {
	if e.rare != nil && e.rare.spoil != nil && e.rare.spoil(kind) {
		return
	}
	n := e.node
	p := n.shard.pool.take()
	p.pause, p.priority, p.size, p.quanta = kind, priority, pauseFrameSize, quanta
	e.busyUntil = max(n.shard.now, e.busyUntil) + e.speed.serialisation(p.size)
	obeyed := e.busyUntil + e.speed.delay + e.reaction
	if f := e.fault; f != nil && f.Pauses {
		f.transmitPause(e, obeyed, p)
		return
	}
	e.carry(obeyed, p)
}

// obey does as a PFC frame from the peer says.
func (e *egress) obey(p *packet) {
	if p.pause == pauseOn {
		e.resume(p.priority)
		return
	}
	if bit := uint8(1) << p.priority; e.paused&bit == 0 && !e.letsGo(bit) {
		e.paused |= bit
		e.pausedAt[p.priority] = e.node.shard.now
		e.pauses++
		e.watch(p.priority)
	}
	if p.quanta > 0 {
		e.extras().pauses[p.priority].hold(e, p.priority, e.pauseTime(p.quanta))
	}
}

// resume ends a pause.
func (e *egress) resume(priority uint8) {
	bit := uint8(1) << priority
	if e.paused&bit == 0 {
		e.takeBack(priority)
		return
	}
	e.paused &^= bit
	e.pausedFor += e.node.shard.now - e.pausedAt[priority]
	e.start()
}

// pauseTimer ends a pause that nobody ends. One event at most is pending for it: if
// the pause was prolonged meanwhile, the event only looks and is armed again.
type pauseTimer struct {
	lane     *egress
	priority uint8
	armed    bool
	until    Time
	alarm    call
}

// hold lets the pause last for a time from now.
func (t *pauseTimer) hold(e *egress, priority uint8, d Time) {
	t.lane, t.priority = e, priority
	t.until = e.node.shard.now + d
	t.arm()
}

func (t *pauseTimer) arm() {
	if !t.armed {
		t.armed = true
		if t.alarm.f == nil {
			t.alarm.f = t.expire
		}
		t.lane.node.callAgain(t.until, &t.alarm)
	}
}

// expire is the end of the pause, if it was not prolonged.
func (t *pauseTimer) expire() {
	t.armed = false
	e, bit := t.lane, uint8(1)<<t.priority
	switch {
	case e.paused&bit == 0 && !e.letsGo(bit): // XON came
	case e.node.shard.now < t.until:
		t.arm()
	default:
		e.rare.expired++
		e.resume(t.priority)
	}
}

// refresher says XOFF again while a priority of the peer has to stay stopped: at half
// the time of a pause, so that one lost frame does not let the peer go.
type refresher struct {
	port     *egress // by which the frames go
	quanta   uint16
	priority uint8
	wanted   int // who wants the peer to stay stopped: a buffer that is full, and storms
	armed    bool
	due      Time
	alarm    call
}

// stop sends XOFF and sees to it that the peer stays stopped.
func (r *refresher) stop(port *egress, priority uint8, quanta uint16) {
	r.port, r.priority, r.quanta = port, priority, quanta
	r.wanted++
	r.say()
}

// release sends XON, unless another still wants the peer stopped.
func (r *refresher) release() {
	if r.wanted--; r.wanted == 0 {
		r.port.control(pauseOn, r.priority, 0)
	}
}

func (r *refresher) say() {
	r.port.control(pauseOff, r.priority, r.quanta)
	if r.quanta == 0 {
		return
	}
	r.due = r.port.node.shard.now + r.port.pauseTime(r.quanta)/2
	r.arm()
}

func (r *refresher) arm() {
	if !r.armed {
		r.armed = true
		if r.alarm.f == nil {
			r.alarm.f = r.remind
		}
		r.port.node.callAgain(r.due, &r.alarm)
	}
}

// remind is the time to say XOFF again, if the peer has been stopped all the time.
func (r *refresher) remind() {
	r.armed = false
	switch {
	case r.wanted == 0:
	case r.port.node.shard.now < r.due:
		r.arm()
	default:
		r.say()
	}
}
