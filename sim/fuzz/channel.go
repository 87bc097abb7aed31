package fuzz

import (
	"context"
	"errors"
	"fmt"

	"github.com/braid-rdma/braid"
	"github.com/braid-rdma/braid/internal/sched"
	"github.com/braid-rdma/braid/sim"
)

// Channels are of package braid itself: programs on the hosts use it as they would on a machine, by
// calls that block, from several goroutines. What one end has sent the other must receive, in order
// and once, unless the channel has failed, the sender has given up, or a filter has lost it.

// firstPort is where the first channel is dialled; each has a port of its own.
const firstPort = 7174

// node is the program of a host that has ends of channels.
type node struct {
	w       *world
	host    int
	spec    *contextSpec
	engine  sched.Scheduler
	runtime sched.Runtime
	context *braid.Context
	ends    []*channelEnd
	base    objects // of the device without the context
	regions int
	done    bool
}

// channel is a channel in the making, in use or ended.
type channel struct {
	*channelSpec
	w      *world
	number int
	ends   [2]*channelEnd
}

// channelEnd is one side of a channel: what its program has sent, received and asked for.
type channelEnd struct {
	*channel
	side    int
	spec    *channelEndSpec
	node    *node
	threads sched.Group // that send
	takers  sched.Group // that receive and respond
	ch      *braid.Channel
	cancel  context.CancelFunc // of the wait for the channel
	closing bool               // it is being closed by this end
	ended   bool               // it has ended for this end, or did not come to be
	settled bool               // the goroutines of this end are done
	flushed bool               // and the peer has received what they sent

	wanted   braid.Carrier // by the last command
	returned bool          // the channel uses the carrier that it is to use

	sent     []*message // that are no calls, in the order of sending
	calls    []*message // made
	next     int        // of the peer's messages, that will be received
	handling int        // calls that handlers have

	window window
	guards [][]byte // memory of operations that were given up: nobody writes it
	filtered
}

func (e *channelEnd) peer() *channelEnd { return e.channel.ends[1-e.side] }

func (e *channelEnd) fail(format string, args ...any) {
	e.w.fail("channel %d, host %d: %s", e.number, e.node.host, fmt.Sprintf(format, args...))
}

// newChannels makes the programs of hosts and the ends of channels, as a plan.
func (w *world) newChannels() error {
	nodes := make([]*node, len(w.hosts))
	for i := range w.sc.channels {
		spec := &w.sc.channels[i]
		c := &channel{channelSpec: spec, w: w, number: i}
		for side, host := range spec.hosts {
			if nodes[host] == nil {
				nodes[host] = newNode(w, host)
				w.nodes = append(w.nodes, nodes[host])
			}
			n := nodes[host]
			c.ends[side] = &channelEnd{
				channel: c, side: side, spec: &spec.ends[side], node: n,
				threads: sched.Group{Runtime: n.runtime}, takers: sched.Group{Runtime: n.runtime},
			}
			n.ends = append(n.ends, c.ends[side])
		}
		w.channels = append(w.channels, c)
	}
	for _, n := range w.nodes {
		n.base, n.regions = w.objectsOf(n.host), w.hosts[n.host].device.Query().MRs
		if err := n.open(); err != nil {
			return err
		}
	}
	for _, n := range w.nodes {
		if err := w.net.Go(n.host, n.run); err != nil {
			return err
		}
		if at := n.spec.dies; at > 0 {
			if err := n.dieAt(at); err != nil {
				return err
			}
		}
	}
	return nil
}

func newNode(w *world, host int) *node {
	engine := w.hosts[host].device.Engine()
	return &node{w: w, host: host, spec: &w.sc.contexts[host], engine: engine.(sched.Scheduler), runtime: sched.Of(engine)}
}

// open opens the context and registers the memory that peers may reach.
func (n *node) open() (err error) {
	cfg := n.spec.cfg
	cfg.Device = n.w.hosts[n.host].device
	if n.context, err = braid.Open(cfg); err != nil {
		return err
	}
	n.noteMoves()
	for _, e := range n.ends {
		if err := e.window.open(n.context, e.peer().spec); err != nil {
			return err
		}
	}
	return nil
}

// run is the program of a host.
func (n *node) run() {
	ends := sched.Group{Runtime: n.runtime}
	if n.spec.filter != nil {
		ends.Go(n.filter)
	}
	for _, e := range n.ends {
		ends.Go(e.run)
	}
	ends.Wait()
	for range 100 { // channels that nobody has accepted are closed in the background
		if n.context.Stats().Channels == 0 {
			break
		}
		n.sleep(100 * sim.Millisecond)
	}
	n.checkFreed()
	if err := n.context.Close(); err != nil {
		n.w.fail("host %d: the context does not close: %v", n.host, err)
	}
	if got := n.w.objectsOf(n.host); got != n.base {
		n.w.fail("host %d: %v are left of a context, there were %v before it", n.host, got, n.base)
	}
	n.checkStreams()
	n.done = true
}

func (n *node) sleep(d sim.Time) { n.w.net.Sleep(n.host, d) }

func (n *node) sleepUntil(t sim.Time) { n.sleep(max(0, t-n.w.net.Now())) }

// dead says whether the host is.
func (n *node) dead() bool { return n.spec.dies > 0 && n.w.net.Now() >= n.spec.dies }

// dieAt ends the host, and cuts its links for good.
func (n *node) dieAt(at sim.Time) error {
	for _, link := range n.w.linksOf(n.host) {
		if err := n.w.net.Impair(at, link, sim.Both, sim.Impairment{Down: true}); err != nil {
			return err
		}
	}
	for _, e := range n.ends {
		p := e.peer()
		err := n.w.net.At(at+handshakeBound, p.node.host, func() {
			if p.cancel != nil {
				p.cancel() // nobody will dial
			}
		})
		if err != nil {
			return err
		}
	}
	if err := n.w.severStreams(at, n.host); err != nil {
		return err
	}
	return n.w.net.At(at, n.host, func() { n.w.net.Kill(n.host) })
}

// filter installs the filter of the context for a while.
func (n *node) filter() {
	f := n.spec.filter
	filter := f.Filter
	if f.channel >= 0 {
		filter.Match = func(m *braid.Msg) bool {
			for _, e := range n.w.channels[f.channel].ends {
				if e.ch == m.Channel() {
					return true
				}
			}
			return false
		}
	}
	n.sleepUntil(f.from)
	if err := n.context.SetFilter(&filter); err != nil {
		n.w.fail("host %d: %v", n.host, err)
	}
	n.sleepUntil(f.until)
	if err := n.context.SetFilter(nil); err != nil {
		n.w.fail("host %d: %v", n.host, err)
	}
}

// run is what an end of a channel does, from before there is one until it is gone.
func (e *channelEnd) run() {
	if e.connect() {
		e.use()
	}
	e.ended = true
	p := e.peer()
	if p.cancel != nil {
		p.cancel()
	}
	e.wakePeer()
}

// connect dials, or waits for the peer to dial.
func (e *channelEnd) connect() bool {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	e.cancel = cancel
	var err error
	if e.side == 0 {
		e.node.sleepUntil(e.start)
		e.ch, err = e.node.context.Dial(ctx, fmt.Sprintf("%v:%d", e.w.addressOf(e.hosts[1]), firstPort+e.number))
	} else {
		e.ch, err = e.accept(ctx)
	}
	e.cancel = nil
	if err != nil && !e.mayFail() && !e.peer().ended {
		e.fail("there is no channel: %v", err)
	}
	return err == nil
}

// accept waits until the peer has dialled, or has failed to.
func (e *channelEnd) accept(ctx context.Context) (*braid.Channel, error) {
	l, err := e.node.context.Listen(uint16(firstPort + e.number))
	if err != nil {
		e.fail("listen: %v", err)
	}
	defer l.Close()
	return l.Accept(ctx)
}

// use lets the goroutines of this end do their work, and then closes the channel with the peer.
func (e *channelEnd) use() {
	e.takers.Go(e.takeMessages)
	for i := range e.spec.threads {
		e.threads.Go(func() { e.send(e.spec.threads[i]) })
	}
	if e.hasty > 0 && e.hastyEnd == e.side {
		e.threads.Go(func() {
			e.node.sleepUntil(e.hasty)
			e.close()
		})
	}
	if len(e.commands) > 0 {
		e.threads.Go(e.obey)
	}
	e.threads.Wait()
	e.settle()
	e.returnToCarrier()
	e.close()
	e.takers.Wait()
	e.awaitHandlers()
	e.checkUnwritten()
}

// settle waits until both ends have received what was sent.
func (e *channelEnd) settle() {
	err := e.ch.Flush(context.Background())
	if err == nil {
		e.checkFlushed(len(e.sent))
	}
	e.settled, e.flushed = true, err == nil
	e.wakePeer()
	e.node.wait(func() bool { return e.peer().settled || e.peer().ended || e.ch.Err() != nil })
	e.checkAlive(e.ch.Err())
	if e.flushed && e.peer().flushed {
		e.checkComplete()
	}
}

// close closes the channel. What it says of messages that did not arrive is known already; and where
// the peer has closed it too, but its word of that was lost, nobody can tell of the last responses.
func (e *channelEnd) close() {
	e.closing = true
	e.checkStats(e.ch.Stats())
	if err := e.ch.Close(); err != nil && !e.peer().closing && !e.mayFail() {
		e.fail("the channel does not close: %v", err)
	}
}

// wait waits until a condition of the world holds; who makes it true wakes the host.
func (n *node) wait(ready func() bool) {
	_ = n.engine.Wait(context.Background(), ready) // it has no end
}

// wakePeer lets the program at the other end look what has changed.
func (e *channelEnd) wakePeer() { e.w.hosts[e.peer().node.host].device.Engine().Wake() }

// mayFail says whether something explains that the channel fails.
func (e *channelEnd) mayFail() bool {
	for _, end := range e.channel.ends {
		if end.node.spec.dies > 0 {
			return true
		}
	}
	if e.sheltered > 0 && e.ch != nil && e.peer().ch != nil {
		return e.hasty > 0
	}
	if e.w.sc.outlives(e.channelSpec) && e.ch != nil && e.peer().ch != nil {
		return e.hasty > 0
	}
	return e.hasty > 0 || e.w.sc.harshFaults() || e.w.sc.losesInStep() || e.w.sc.tcpFails(e.channelSpec)
}

// losesInStep says whether every retry of a READ may lose the same packet (see lossInStep).
func (s *scenario) losesInStep() bool {
	for _, f := range s.faults {
		if f.impairment.LossEvery > 0 {
			return true
		}
	}
	return false
}

// checkAlive checks that a channel that has failed had a reason.
func (e *channelEnd) checkAlive(err error) {
	if err != nil && !e.closing && !e.peer().closing && !e.mayFail() {
		e.fail("the channel has failed: %v", err)
	}
}

// gone says whether an error means that the channel is not there any more, or will not be soon.
func (e *channelEnd) gone(err error) bool {
	if e.ch.Err() != nil {
		e.checkAlive(e.ch.Err())
		return true
	}
	return e.closing && errors.Is(err, braid.ErrClosed)
}
