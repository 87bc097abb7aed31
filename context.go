package braid

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/braid-rdma/braid/cm"
	"github.com/braid-rdma/braid/internal/fifo"
	"github.com/braid-rdma/braid/internal/sched"
	"github.com/braid-rdma/braid/operate"
	"github.com/braid-rdma/braid/udp"
	"github.com/braid-rdma/braid/verbs"
)

// Context is where channels live: a device, the memory for messages, and one
// thread's worth of work. Contexts share nothing, so a program that needs more
// than one processor opens several.
type Context struct {
	cfg     Config
	device  *verbs.Device
	engine  verbs.Engine
	manager *cm.Manager
	pd      *verbs.PD
	cq      *verbs.CQ
	memory  *memoryCache

	inbox      inbox
	handled    inbox       // what handlers that ran one after the other have left to be done
	owned      atomic.Bool // somebody does the work
	overlooked atomic.Bool // there may be a completion that the owner has not seen
	putOff     atomic.Bool // the last turn has left to the next what settle does

	streams *streams // nil: channels stay on UDP
	onMove  atomic.Pointer[func(Move)]

	attendance attendance
	leading    leading
	parting    chan *Channel // to be disconnected by the leader
	partings   atomic.Int32  // how many there are, or will be in a moment
	runtime    sched.Runtime
	tracer     tracer
	timer      *sched.Timer
	closed     chan struct{}
	close      sync.Once
	background sched.Group // goroutines of the context

	// The rest belongs to the owner.
	at          time.Duration // when tasks or completions were last taken
	channels    []*Channel    // by number; nil: free
	freeNumbers []uint32
	qps         qpCache
	listeners   []*Listener
	dirty       []*Channel // something may be to do
	unrung      []*Channel // something was posted and is not transmitted
	unsettled   []*Channel // something is to do that nobody waits for
	spare       *Msg       // for the next message that arrives
	replied     []*traced  // traces of calls whose responses were posted
	operations  operations
	bulk        bulkQueue
	requests    fifo.Queue[*Msg] // for handlers
	waiting     atomic.Int32
	deadlines   deadlines
	timerAt     time.Duration
	filter      *filtering
	news        bool // somebody's wait has ended
	notify      chan struct{}
	eventFD     atomic.Pointer[eventFD]
	publication publication
	journal     journal
	offering    *operate.Offering // nil: there is none
	polled      [64]verbs.Completion
}

// handshake has the defaults; tests do not wait as long for a peer that is dead.
var handshake cm.Config

// Open makes a context.
func Open(cfg Config) (*Context, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	if cfg.DebugMemory, err = debugMemory(cfg.DebugMemory); err != nil {
		return nil, err
	}
	c := &Context{cfg: cfg, device: cfg.Device, closed: make(chan struct{}), timerAt: never, parting: make(chan *Channel, maxParting)}
	if c.device == nil {
		if c.device, err = udp.Open(udp.Config{Loops: 1}); err != nil {
			return nil, err
		}
	}
	if err := c.prepare(); err != nil {
		c.release()
		return nil, fmt.Errorf("braid: %w", err)
	}
	c.beginPublishing()
	c.attendance.init(cfg.Background)
	c.timer = c.runtime.NewTimer(c.tick)
	if c.runtime.Virtual() {
		c.background.Go(c.attendAlone)
	} else {
		c.background.Go(c.standBy)
	}
	if c.streams != nil {
		c.background.Go(func() { c.streams.serve(&c.background) })
	}
	c.beginOffering()
	return c, nil
}

func (c *Context) prepare() (err error) {
	c.engine = c.device.Engine()
	c.journal.configure(&c.cfg)
	c.tracer.journal = &c.journal
	c.tracer.init(&c.cfg, time.Duration(time.Now().UnixNano())-c.now())
	c.runtime = sched.Of(c.engine)
	c.background.Runtime = c.runtime
	managing := handshake
	managing.Wait = c.awaitPeer
	if c.manager, err = cm.New(c.device, managing); err != nil {
		return err
	}
	if c.pd, err = c.device.CreatePD(); err != nil {
		return err
	}
	c.memory = newMemoryCache(c.pd, &c.cfg, c.now, c.background.Go)
	if c.cq, err = c.device.CreateCQ(c.cfg.Channels * c.cfg.operations()); err != nil {
		return err
	}
	if !c.cfg.Background && c.manager.Attend(c.cq) { // from now on one loop wakes the leader for channels and for peers
		c.manager.Leave()
	}
	if c.cfg.Mock != MockOff {
		c.streams, err = listenStreams(c.streamNetwork(), c.runtime, c.cfg.MockPort)
	}
	if err == nil && c.cfg.Mock == MockTCP && c.streams == nil {
		err = c.engineHasNoTCP()
	}
	return err
}

// release frees what prepare made.
func (c *Context) release() {
	if c.manager != nil {
		c.manager.Close()
	}
	if c.cq != nil {
		c.cq.Close()
	}
	if c.memory != nil {
		c.memory.close()
	}
	if c.pd != nil {
		c.pd.Close()
	}
	if c.cfg.Device == nil {
		c.device.Close()
	}
}

// Close closes the listeners, the channels, each as Channel.Close does, and the context.
// Closing twice is allowed.
func (c *Context) Close() error {
	c.close.Do(func() {
		close(c.closed) // no more of either
		if c.offering != nil {
			c.offering.Close()
		}
		var listeners []*Listener
		c.exclusive(func() { listeners = slices.Clone(c.listeners) })
		for _, l := range listeners {
			l.Close()
		}
		var all []*Channel
		c.exclusive(func() { all = slices.Clone(c.channels) })
		closing := sched.Group{Runtime: c.runtime}
		for _, ch := range all {
			if ch != nil {
				closing.Go(func() { ch.Close() })
			}
		}
		closing.Wait()
		if c.streams != nil {
			c.streams.close()
		}
		c.cq.Wake()
		c.timer.Stop()
		c.background.Wait()
		if e := c.eventFD.Load(); e != nil {
			e.close()
		}
		c.exclusive(func() { c.qps.shrink(0) })
		c.endPublishing()
		c.release()
	})
	return nil
}

// now is the time of the device, which is virtual in a simulation.
func (c *Context) now() time.Duration { return time.Duration(c.engine.Now()) }
