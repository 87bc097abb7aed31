package bundle

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/braid-rdma/braid/bundle/machine"
	"github.com/braid-rdma/braid/cm"
	"github.com/braid-rdma/braid/internal/broadcast"
	"github.com/braid-rdma/braid/verbs"
)

// Conn is a connection over several queue pairs. Its methods may be called from any
// thread.
type Conn struct {
	manager *cm.Manager
	cfg     Config
	id      uint64
	targets []string // to dial again: the peer at each of its addresses
	start   time.Time
	cq      *verbs.CQ
	boxes   boxes
	onEnd   func() // the listener forgets it

	ctx     context.Context // ends with the connection
	cancel  context.CancelFunc
	tasks   sync.WaitGroup
	news    broadcast.Broadcast // completions, a lane that is up, or the end
	lost    *time.Timer         // ends the connection when the peer cannot be reached
	closing sync.Once
	done    chan struct{}

	mu          sync.Mutex
	machine     *machine.Machine
	remote      netip.AddrPort
	lanes       []*lane
	byQPN       map[verbs.QPN]*lane
	requests    map[machine.Number]*pending
	receives    map[machine.Number]*pending
	completions []Completion
	unpolled    int  // asynchronous requests that are outstanding or not polled
	alone       bool // no lane is up: lost is running
	err         error
	ended       bool // after err: all completions are handed out
	repairs     int
	byeSent     chan struct{}
	boxSGE      [1]verbs.SGE // of the receive that is being posted
}

// newConn makes a connection that has no queue pair yet. onEnd, if given, is called when it has ended.
func newConn(m *cm.Manager, cfg Config, id uint64, onEnd func()) (*Conn, error) {
	n := cfg.QueuePairs
	c := &Conn{
		manager: m, cfg: cfg, id: id, start: time.Now(), done: make(chan struct{}),
		byeSent: make(chan struct{}, 1), onEnd: onEnd,
		machine: machine.New(machine.Config{
			Lanes: n, Chunk: cfg.Chunk, Depth: cfg.Depth, Eager: eager, TwoSided: cfg.twoSidedChunk(),
			Balancer: cfg.Balancer(), Window: cfg.Lossy,
		}),
		byQPN:    make(map[verbs.QPN]*lane),
		requests: make(map[machine.Number]*pending), receives: make(map[machine.Number]*pending),
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	var err error
	// Twice, for the completions of queue pairs that are gone beside those of their
	// replacements: so it cannot overflow.
	c.boxes = boxesOf(&cfg)
	depth := 2 * n * (c.sendDepth() + c.boxes.depth)
	if c.cq, err = m.Device().CreateCQ(depth); err != nil {
		return nil, err
	}
	if c.boxes.mr, err = cfg.PD.AllocMemory(c.boxes.bytes(n, n*c.sendDepth()), verbs.LocalWrite); err != nil {
		c.cq.Close()
		return nil, err
	}
	for i := range n {
		c.lanes = append(c.lanes, &lane{index: i, down: closedChan()})
	}
	c.lost = time.AfterFunc(cfg.RepairTimeout, func() { c.fail(ErrPeerLost) })
	c.lost.Stop() // until a lane is reached; Dial has its context
	c.tasks.Go(c.pump)
	return c, nil
}

// sendDepth is what the machine has outstanding on a lane at most, and a probe.
func (c *Conn) sendDepth() int { return c.cfg.Depth + machine.ControlDepth + 4 }

// RemoteAddr is the peer's address, of several the first that was reached.
func (c *Conn) RemoteAddr() netip.AddrPort {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.remote
}

// setRemote notes the address that the peer was reached at first.
func (c *Conn) setRemote(addr netip.AddrPort) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.remote.IsValid() {
		c.remote = addr
	}
}

// startTask runs a task that Close waits for, unless the connection has ended.
func (c *Conn) startTask(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return false
	}
	c.tasks.Go(f)
	return true
}

// Done is closed when the connection has ended.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Err is nil while the connection lives.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Stats describe a connection.
type Stats struct {
	QueuePairs int
	Up         int // queue pairs that can be used now
	Repairs    int // queue pairs that were replaced
}

// Stats describe the connection as it is now.
func (c *Conn) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := Stats{QueuePairs: len(c.lanes), Repairs: c.repairs}
	for _, v := range c.machine.Views() {
		if v.Up {
			s.Up++
		}
	}
	return s
}

// Close ends the connection and tells the peer. Closing twice is allowed.
func (c *Conn) Close() error {
	c.sayBye()
	c.fail(fmt.Errorf("bundle: %w", ErrClosed))
	c.tasks.Wait()
	return nil
}

// fail ends the connection for the first reason given.
func (c *Conn) fail(reason error) {
	c.closing.Do(func() {
		c.mu.Lock()
		c.err = reason
		c.lost.Stop()
		lanes := c.lanes
		c.mu.Unlock()
		c.cancel()
		for _, l := range lanes {
			c.mu.Lock()
			qp := l.qp
			c.mu.Unlock()
			if qp != nil {
				qp.Close() // from here on no memory is touched by it
			}
		}
		c.mu.Lock()
		c.drain()
		c.machine.Fail(reason)
		c.settle()
		c.ended = true
		c.mu.Unlock()
		c.cq.Close()
		_ = c.boxes.mr.Deregister() // it fails only if the device is closed
		if c.onEnd != nil {
			c.onEnd()
		}
		close(c.done)
		c.news.Announce()
	})
}

// now is the machine's clock.
func (c *Conn) now() machine.Time { return machine.Time(time.Since(c.start)) + 1 }

func closedChan() chan struct{} {
	ch := make(chan struct{})
	close(ch)
	return ch
}
