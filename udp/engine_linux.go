package udp

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/braid-rdma/braid/internal/broadcast"
	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
	"github.com/braid-rdma/braid/wire"
)

// engine implements verbs.Engine on sockets.
type engine struct {
	cfg  Config
	part part     // of the numbers
	kin  []int    // the parts of the device's loops
	own  *address // the one that the device has from the start

	// mu is the ownership that verbs.Engine describes. It guards everything
	// down to the blank line.
	mu         sync.Mutex
	addrs      []*address              // local ones, own first
	receivers  []*rxSocket             // theirs, of which an arrival wakes who sleeps
	via        map[netip.Addr]*address // by peer: the address of ours that it is talked to from
	route      checkedRoute
	services   []uint64 // that it serves
	pool       *txPool
	batch      *txBatch
	ports      map[wire.QPN]*port
	peers      map[netip.Addr]*peer
	addresses  verbs.Addresses
	dirty      []*port
	died       bool     // of a panic
	loops      int      // of the device
	kicked     bool     // something was kicked since the last drive
	kept       [][]byte // by slot of the batch: copies of what the kernel did not take
	timers     timerHeap
	faults     faults
	stats      Stats
	capture    *capture             // nil: not wanted, or ended
	packet     transport.Packet     // scratch: the packet at hand
	completion transport.Completion // scratch: what is delivered
	event      transport.Event      // scratch, likewise
	flow       flow                 // scratch: the flow of the packet that is encoded
	detour     []byte               // scratch: a packet that takes another way
	last       *port                // the queue pair of the last packet that arrived
	epoch      uint64               // counts windows of time, to know who is active
	epochEnd   transport.Time
	intake     intake
	turns      turns // of the sources, in a flood
	arrivals   arrivals
	rounds     uint64         // counts turns of the loop
	prompt     transport.Time // when a short message was last sent or received
	active     int            // queue pairs that received in the last epoch
	counting   int            // queue pairs that received in this one
	sleepers   [2]transport.Time

	// Each kind of sleeper has its own way to be woken: of two threads that
	// sleep on one eventfd, the first to wake would take the news of both.
	wakers       [2]*waker
	polls        [2]*pollSet
	waking       sync.RWMutex
	wakersClosed bool // under waking

	driving    atomic.Bool  // an application thread runs the loop
	appWaiting waiting      // of that thread
	lease      atomic.Int64 // until when a polling application is taken to come back
	blocked    [2]atomic.Bool
	naps       atomic.Uint32 // sleeps of application threads that have ended
	retired    atomic.Bool   // the background thread waits for unpark, however long it takes
	waiters    atomic.Int32
	idle       atomic.Uint32 // rounds in vain
	yielder    yielder
	progress   broadcast.Broadcast
	parked     chan struct{}
	closed     atomic.Bool
	stopped    chan struct{} // closed when the background thread has ended
	closing    sync.Once
}

// The two kinds of thread that may sleep in ppoll.
const (
	sleeperBackground = iota
	sleeperApp
)

var start = time.Now()

// Now is nanoseconds since the program started, and never zero.
func (e *engine) Now() transport.Time { return transport.Time(time.Since(start)) + 1 }

// Random returns bits that a stranger cannot guess.
func (e *engine) Random() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails: the runtime ends the program instead
	return binary.LittleEndian.Uint64(b[:])
}

// Lock takes the ownership of everything that belongs to the device.
func (e *engine) Lock() { e.mu.Lock() }

// Unlock drives what was kicked and gives the ownership back.
func (e *engine) Unlock() {
	// What a round left for the application's answer stays until there is one.
	if e.kicked && !e.closed.Load() {
		e.driveKicked()
	}
	e.rouse()
	e.mu.Unlock()
}

func (e *engine) driveKicked() {
	if e.died {
		e.deliverFlushed()
		return
	}
	defer e.contain()
	e.drive(e.Now())
}

// rouse wakes a sleeping thread that would sleep past what is to be done: a
// timer that is due before it would wake, or what a round has left to be sent.
func (e *engine) rouse() {
	if e.sleepers == [len(e.sleepers)]transport.Time{} {
		return
	}
	next := e.nextWork()
	for i := range e.sleepers {
		if next < e.sleepers[i] {
			e.sleepers[i] = 0 // once is enough
			e.wakeSleeper(i)
		}
	}
}

// nextWork is when there is something to do, whatever arrives.
func (e *engine) nextWork() transport.Time {
	if e.died {
		return transport.Never
	}
	next := min(e.timers.next(), e.intake.due())
	if len(e.dirty) > 0 || e.batch.backlog() > 0 {
		next = min(next, e.Now()+retryTime)
	}
	return next
}

// wakeSleeper ends the sleep of a thread. The end of a context or a late Wake
// may call it while the engine closes, when the descriptor is perhaps another
// file's already.
func (e *engine) wakeSleeper(who int) {
	e.waking.RLock()
	defer e.waking.RUnlock()
	if !e.wakersClosed {
		e.wakers[who].wake()
	}
}

// Attach enters a queue pair in the table.
func (e *engine) Attach(qp transport.QP, sink verbs.Sink) error {
	n := qp.Number()
	if e.died {
		return errDied
	}
	if e.ports[n] != nil {
		return fmt.Errorf("udp: queue pair %v exists already", qp.Number())
	}
	_, mp := qp.(transport.MultiPath)
	_, unacknowledged := qp.(transport.Unacknowledged)
	e.ports[n] = &port{qp: qp, sink: sink, mp: mp, unacknowledged: unacknowledged, index: -1, path: e.pathOf(qp)}
	return nil
}

// pathOf is the path of a queue pair that has only one: that which it asks for, or
// one by its number.
func (e *engine) pathOf(qp transport.QP) int {
	if single, ok := qp.(transport.SinglePath); ok {
		if path, fixed := single.FixedPath(); fixed {
			return int(path) % e.cfg.Paths
		}
	}
	return int(qp.Number()) % e.cfg.Paths
}

// errFamily is wrapped when a peer's address cannot be reached from the device's.
var errFamily = errors.New("the address families differ")

// Route tells where a connected queue pair sends to.
func (e *engine) Route(qp transport.QP, remote netip.Addr) error {
	p := e.ports[qp.Number()]
	if e.died {
		return errDied
	}
	if p == nil {
		return fmt.Errorf("udp: queue pair %v is not attached", qp.Number())
	}
	peer, err := e.peerOf(remote)
	if err != nil {
		return err
	}
	p.peer, p.way, p.watcher = peer, nil, nil // it may have had another connection before
	return nil
}

// Detach removes a queue pair.
func (e *engine) Detach(qp transport.QP) {
	n := qp.Number()
	p := e.ports[n]
	if p == nil || p.qp != qp {
		return
	}
	delete(e.ports, n)
	e.timers.remove(p)
	p.sink = nil
	delete(e.arrivals.ports, p)
	if e.last == p {
		e.last = nil
	}
	for i, d := range e.dirty {
		if d == p {
			e.dirty = append(e.dirty[:i], e.dirty[i+1:]...)
			break
		}
	}
}

// Kick notes that a queue pair is to be driven.
func (e *engine) Kick(qp transport.QP) {
	if p := e.ports[qp.Number()]; p != nil {
		e.kicked = true
		e.touch(p)
	}
}

// Flush sends what a round has left for the program's answer.
func (e *engine) Flush(qp transport.QP) {
	if p := e.ports[qp.Number()]; p != nil && p.dirty && !e.closed.Load() && !e.died {
		defer e.contain()
		e.transmit(e.Now(), p)
		e.flush()
	}
}

func (e *engine) touch(p *port) {
	if !p.dirty {
		p.dirty = true
		e.dirty = append(e.dirty, p)
	}
}

// Addresses is the table of datagram addresses.
func (e *engine) Addresses() *verbs.Addresses { return &e.addresses }

// Info describes the engine.
func (e *engine) Info() verbs.EngineInfo {
	return verbs.EngineInfo{
		Name: "udp", Part: e.part.numbers(), Local: e.own.ip, MTU: transport.StandardMTU(e.own.mtu), MPMTU: e.own.mtu, Paths: e.cfg.Paths, SourcePorts: e.cfg.SourcePorts, Window: e.own.window(), CatchUp: catchUp, Keepalive: verbs.DefaultKeepalive,
	}
}

// window is the receive buffer of an address in packets. The kernel counts about twice the
// payload against the buffer, and an unlucky packet up to a page more.
func (a *address) window() int {
	return max(8, a.rx.rcvbuf()/2/(a.mtu+wire.MaxHeadersLen+512))
}

// Close stops the background thread and closes the sockets.
func (e *engine) Close() error {
	var err error
	e.closing.Do(func() {
		e.closed.Store(true)
		e.wakeSleeper(sleeperBackground)
		e.unpark()
		e.progress.Announce()
		<-e.stopped
		for e.driving.Load() { // an application thread leaves as soon as it sees closed
			e.wakeSleeper(sleeperApp)
			time.Sleep(50 * time.Microsecond)
		}
		var groups []*group
		groups, err = e.closeFiles()
		for _, g := range groups {
			g.running.Wait() // without the lock, which they may wait for
		}
	})
	return err
}

// closeFiles closes what is open, and returns the groups that it leaves.
func (e *engine) closeFiles() ([]*group, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.waking.Lock()
	defer e.waking.Unlock()
	e.wakersClosed = true
	err := errors.Join(e.pool.close(), e.wakers[0].close(), e.wakers[1].close())
	for _, a := range e.addrs {
		err = errors.Join(err, a.close())
	}
	e.part.release()
	return e.groups(), err
}
