package bundle

import (
	"context"
	"slices"
	"time"

	"github.com/braid-rdma/braid/bundle/machine"
	"github.com/braid-rdma/braid/cm"
	"github.com/braid-rdma/braid/verbs"
)

// lane is one of the queue pairs, through its replacements. All is under the
// connection's lock but index.
type lane struct {
	index       int
	qp          *verbs.QP // nil: it is down
	outstanding int       // work requests and receives that have not completed
	closed      bool      // the queue pair is; what it had may still be in the completion queue
	down        chan struct{}
	probed      chan error
	broken      chan struct{} // closed when a work request has failed
	isBroken    bool
	generation  uint32 // the next that a peer may come with
	accepting   bool
	batch       batch // what settle is about to post
}

// options of the queue pair of a lane. Each generation takes another path, where the
// device has more of them than the connection has queue pairs: the path may be what
// broke the last.
func (c *Conn) options(l *lane, generation uint32) verbs.QPOptions {
	o := c.cfg.QP
	o.SendCQ, o.RecvCQ, o.SRQ = c.cq, c.cq, nil
	o.SendDepth, o.RecvDepth, o.MaxInline = c.sendDepth(), c.boxes.depth, messageLen
	o.SignalAll = false
	paths := uint64(max(c.manager.Device().Query().Paths, 1))
	o.RC.Path = int((uint64(l.index)+uint64(generation)*uint64(len(c.lanes)))%paths) + 1
	return o
}

// connectOptions are those of a lane's connection; data goes to the peer.
func (c *Conn) connectOptions(l *lane, generation uint32, data []byte) cm.Options {
	return cm.Options{
		PD: c.cfg.PD, QP: c.options(l, generation), PrivateData: data,
		Prepare: func(q *verbs.QP) error { return c.adopt(l, q) },
	}
}

// adopt gives a lane its queue pair, and that its receives.
func (c *Conn) adopt(l *lane, q *verbs.QP) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return c.err
	}
	l.qp, l.outstanding, l.closed = q, 0, false
	l.down, l.probed = make(chan struct{}), make(chan error, 1)
	l.broken, l.isBroken = make(chan struct{}), false
	c.byQPN[q.Number()] = l
	for i := range c.boxes.depth {
		c.postBox(l, l.index*c.boxes.depth+i)
	}
	return nil
}

// current is the queue pair of a lane, or nil.
func (c *Conn) current(l *lane) *verbs.QP {
	c.mu.Lock()
	defer c.mu.Unlock()
	return l.qp
}

// closeLane ends the queue pair of a lane, if it is still q, and waits until all it had
// is handled.
func (c *Conn) closeLane(l *lane, q *verbs.QP) {
	c.mu.Lock()
	same, down := l.qp == q, l.down
	c.mu.Unlock()
	if q == nil || !same {
		return
	}
	q.Close()
	c.mu.Lock()
	if l.qp == q {
		l.closed = true
		c.checkDown(l)
		c.settle()
	}
	c.mu.Unlock()
	select {
	case <-down:
	case <-c.ctx.Done():
	}
}

// checkDown tells the machine that a lane is down once its queue pair is closed and
// each completion of it is handled; the lock is held.
func (c *Conn) checkDown(l *lane) {
	if !l.closed || l.outstanding > 0 || l.qp == nil {
		return
	}
	delete(c.byQPN, l.qp.Number())
	l.qp = nil
	c.machine.HandleDown(l.index)
	close(l.down)
	c.watchPeer()
}

// fenced tells the machine that both ends of a lane's last queue pair are gone. Only
// the peer can have said so: it was reached.
func (c *Conn) fenced(l *lane) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.machine.HandleFenced(l.index)
	c.watchPeer()
	c.settle()
}

// watchPeer is called when the peer was reached first, and when the state of a lane has
// changed; the lock is held. From the moment when no lane is up it has Config.RepairTimeout.
// That it grants queue pairs meanwhile is no reason to wait longer: they may all be dead.
func (c *Conn) watchPeer() {
	alone := c.err == nil && !c.anyUp()
	switch {
	case !alone:
		c.lost.Stop()
	case !c.alone:
		c.lost.Reset(c.cfg.RepairTimeout)
	}
	c.alone = alone
}

// anyUp says whether a lane can be used; the lock is held.
func (c *Conn) anyUp() bool {
	return slices.ContainsFunc(c.machine.Views(), func(v machine.LaneView) bool { return v.Up })
}

// up lets a lane be used.
func (c *Conn) up(l *lane, generation uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil || l.qp == nil {
		return
	}
	if generation > 0 {
		c.repairs++
	}
	c.machine.HandleUp(l.index)
	c.watchPeer()
	c.settle()
	c.news.Announce()
}

// probe tries a queue pair with a WRITE of no bytes: the connection manager's messages
// take all paths, so a queue pair may be connected whose own path is dead.
func (c *Conn) probe(l *lane, ended <-chan struct{}) error {
	c.mu.Lock()
	q, probed := l.qp, l.probed
	if q == nil {
		c.mu.Unlock()
		return cm.ErrPeerClosed
	}
	err := q.PostSend(&verbs.SendWR{ID: probeTag, Op: verbs.OpWrite, Flags: verbs.Signaled})
	if err == nil {
		l.outstanding++
	}
	c.mu.Unlock()
	if err != nil {
		return err
	}
	select {
	case err = <-probed:
		return err
	case <-ended:
		return cm.ErrPeerClosed
	case <-c.ctx.Done():
		return c.ctx.Err()
	}
}

// awaitEnd waits until a lane's connection has ended, its queue pair has failed, or all
// ends; or until home says that a lane which is away should return.
func (c *Conn) awaitEnd(l *lane, conn *cm.Conn, home func() bool) {
	c.mu.Lock()
	broken := l.broken
	if l.qp != conn.QP() {
		c.mu.Unlock()
		return // it is closed or replaced already
	}
	c.mu.Unlock()
	for {
		var ask <-chan time.Time
		if home != nil {
			ask = time.After(homePause)
		}
		select {
		case <-ask:
			if !home() {
				continue
			}
		case <-conn.Done():
		case <-broken:
		case <-c.ctx.Done():
		}
		return
	}
}

// noteFailure wakes who tends a lane when a work request of it has failed; the lock is
// held.
func (l *lane) noteFailure() {
	if !l.isBroken {
		l.isBroken = true
		close(l.broken)
	}
}

func (c *Conn) sleep(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.ctx.Done():
	}
}

// sayBye tells the peer that the connection ends, as far as it can be told.
func (c *Conn) sayBye() {
	c.mu.Lock()
	posted := 0
	h := machine.Header{Kind: machine.HeaderBye}
	for i, v := range c.machine.Views() {
		if l := c.lanes[i]; c.err == nil && v.Up && !c.cfg.Standard && l.qp != nil &&
			l.qp.PostSend(&verbs.SendWR{ID: byeTag, Op: verbs.OpSend, Flags: verbs.Signaled, Inline: h.Append(nil)}) == nil {
			l.outstanding++
			posted++
		}
	}
	c.mu.Unlock()
	if posted == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(c.ctx, byeTimeout)
	defer cancel()
	select {
	case <-c.byeSent:
	case <-ctx.Done():
	}
}
