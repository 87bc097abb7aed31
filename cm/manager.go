package cm

import (
	"context"
	"maps"
	"math"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/braid-rdma/braid/cm/machine"
	"github.com/braid-rdma/braid/cm/mad"
	"github.com/braid-rdma/braid/internal/sched"
	"github.com/braid-rdma/braid/verbs"
)

// Manager makes and takes connections for a device. A device has one, since it
// has one queue pair 1. Its methods may be called from any thread.
type Manager struct {
	device  *verbs.Device
	limits  verbs.Limits
	backlog int
	wake    chan struct{} // it is time for the loop to run
	stop    chan struct{}
	runtime sched.Runtime
	loop    sched.Group
	await   func(ctx context.Context, a, b <-chan struct{})
	timer   *sched.Timer // wakes the loop
	aside   atomic.Bool  // only the loop takes what comes: a crowd, or nothing any more

	mu        sync.Mutex
	agent     *Agent
	conns     map[mad.CommID]*Conn
	listeners map[uint16]*Listener
	dialing   map[netip.Addr]*dialSlots
	armed     machine.Time // when the loop runs next by itself
	prompt    []func()     // to be called without the lock, before the next datagrams are taken
	closed    bool
}

// New makes the manager of a device.
func New(d *verbs.Device, cfg Config) (*Manager, error) {
	agent, err := NewAgent(d, cfg.Machine)
	if err != nil {
		return nil, err
	}
	if cfg.Backlog == 0 {
		cfg.Backlog = defaultBacklog
	}
	runtime := sched.Of(d.Engine())
	m := &Manager{
		runtime: runtime, loop: sched.Group{Runtime: runtime},
		device: d, limits: d.Query().Limits, backlog: cfg.Backlog, agent: agent,
		wake: make(chan struct{}, 1), stop: make(chan struct{}),
		conns: make(map[mad.CommID]*Conn), listeners: make(map[uint16]*Listener),
		dialing: make(map[netip.Addr]*dialSlots), armed: machine.Never, await: cfg.Wait,
	}
	m.timer = runtime.NewTimer(m.wakeLoop)
	m.loop.Go(m.run)
	return m, nil
}

// Device is the device of the manager.
func (m *Manager) Device() *verbs.Device { return m.device }

// Counters tell what the manager has seen.
func (m *Manager) Counters() machine.Counters {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.agent.Machine().Counters()
}

// Close ends all connections and listeners. Peers are told once, and not waited
// for. Closing twice is allowed.
func (m *Manager) Close() error {
	m.closeAll(ErrClosed)
	m.loop.Wait()
	return nil
}

// closeAll ends everything, once, for a reason.
func (m *Manager) closeAll(reason error) {
	m.mu.Lock()
	defer m.unlock()
	if m.closed {
		return
	}
	m.closed = true
	m.aside.Store(true)
	close(m.stop)
	for _, port := range slices.Sorted(maps.Keys(m.listeners)) {
		m.unlisten(m.listeners[port])
	}
	core, now := m.agent.Machine(), m.agent.Now()
	for _, id := range slices.Sorted(maps.Keys(m.conns)) {
		if core.Disconnect(now, id) != nil {
			_ = core.Reject(now, id, mad.REJ{Reason: mad.ReasonConsumer})
		}
		m.conns[id].finish(reason)
	}
	m.agent.Flush()
	m.agent.Close()
}

// run is the loop: it waits for datagrams and times, and lets the agent act.
// Where many datagrams come it waits for a while before it takes the next: in a
// flood it would otherwise be woken for each, and take the processor from those
// who move data.
func (m *Manager) run() {
	notify := m.agent.Notify()
	defer m.timer.Stop()
	for {
		if err := m.step(); err != nil {
			m.closeAll(err)
			return
		}
		news := notify
		if m.aside.Load() {
			news = nil
		}
		if m.runtime.Select(context.Background(), m.stop, news, m.wake) == 0 {
			return
		}
	}
}

// wakeLoop lets the loop run.
func (m *Manager) wakeLoop() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// step lets the agent act, and has the loop run again when there is something to do.
func (m *Manager) step() error {
	m.mu.Lock()
	defer m.unlock()
	if m.closed {
		return ErrClosed
	}
	core := m.agent.Machine()
	before := core.Counters().Received
	again, err := m.agent.Step()
	if err != nil {
		return err
	}
	m.dispatch()
	crowded := core.Counters().Received-before >= crowd
	if was := m.aside.Swap(crowded); was && !crowded {
		m.wakeLoop() // it waits for its time only, and who attends may have taken the rest of the crowd
	}
	switch {
	case crowded:
		again = m.agent.Now() + machine.Time(crowdPause)
	case m.agent.cq.Ready(): // asked once more, since who attends may have seen that this was the loop's business
		again = m.agent.Now()
	default:
		again = min(again, core.Timeout())
	}
	m.arm(again)
	return nil
}

// unlock gives the lock back, and tells those who are to be told without it.
func (m *Manager) unlock() {
	prompt := m.prompt
	m.prompt = nil
	m.mu.Unlock()
	for _, f := range prompt {
		f()
	}
}

// arm has the loop run at a time; the lock is held.
func (m *Manager) arm(at machine.Time) {
	if at == m.armed && at > m.agent.Now() {
		return
	}
	m.armed = at
	wait := time.Duration(math.MaxInt64)
	if at != machine.Never {
		wait = time.Duration(at - m.agent.Now())
	}
	if wait <= 0 {
		m.wakeLoop()
		return
	}
	m.timer.Reset(wait)
}

// command runs a command on the machine, and sends and tells what it led to.
func (m *Manager) command(f func(core *machine.Machine, now machine.Time) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return ErrClosed
	}
	core := m.agent.Machine()
	err := f(core, m.agent.Now())
	m.dispatch()
	if at := core.Timeout(); at < m.armed {
		m.arm(at)
	}
	if len(m.prompt) > 0 {
		m.wakeLoop() // it is not for who asked for something else
	}
	return err
}

// dispatch tells connections and listeners what happened, and sends what that
// leads to.
func (m *Manager) dispatch() {
	for {
		e, ok := m.agent.Machine().PollEvent()
		if !ok {
			break
		}
		switch c := m.conns[e.ID]; {
		case c != nil:
			c.handleEvent(&e)
		case e.Kind == machine.Requested:
			m.request(&e)
		}
		m.agent.cq.Wake() // who attends may wait for what has happened: not before, or it would look too soon
	}
	m.agent.Flush()
}
