//go:build ibverbs && linux && cgo

package ibverbs

// #include "glue.h"
// #include <stdlib.h>
import "C"

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/braid-rdma/braid/internal/broadcast"
	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

// engine implements verbs.Engine and verbs.NIC on a device of libibverbs.
type engine struct {
	cfg     Config
	adapter *adapter
	channel *C.struct_ibv_comp_channel

	// mu is the ownership that verbs.Engine describes. It guards everything down to
	// the blank line.
	mu        sync.Mutex
	domains   map[transport.PD]*domain
	cqs       []*sharedCQ
	qps       map[uint32]*qp
	lastID    uint32
	addresses verbs.Addresses
	request   *C.struct_braid_request    // scratch, in memory of C
	done      *C.struct_braid_completion // scratch: BRAID_BATCH of them, in memory of C
	failing   []*qp                      // have failed in this round
	delivered transport.Completion       // scratch: what is delivered
	kicked    *managementQP              // has completions for Unlock to deliver; nil: no

	watchers sync.WaitGroup
	events   *watch // completions, while nobody polls
	async    *watch // asynchronous events
	polls    atomic.Uint64
	waiters  atomic.Int32
	sleepy   chan struct{} // a thread goes to sleep: events are needed
	progress broadcast.Broadcast
	closed   atomic.Bool
	stop     chan struct{} // closed by Close
}

var (
	_ verbs.Engine = (*engine)(nil)
	_ verbs.NIC    = (*engine)(nil)
)

func newEngine(cfg Config, a *adapter) (*engine, error) {
	e := &engine{
		cfg: cfg, adapter: a, domains: make(map[transport.PD]*domain), qps: make(map[uint32]*qp),
		sleepy: make(chan struct{}, 1), stop: make(chan struct{}),
	}
	channel, err := C.ibv_create_comp_channel(a.context)
	if channel == nil {
		return nil, fmt.Errorf("ibverbs: create a completion channel: %w", err)
	}
	e.channel = channel
	if e.events, err = newWatch(channel.fd); err == nil {
		e.async, err = newWatch(a.context.async_fd)
	}
	if err != nil {
		e.events.close()
		C.ibv_destroy_comp_channel(channel)
		return nil, err
	}
	e.request = (*C.struct_braid_request)(C.calloc(1, C.sizeof_struct_braid_request))
	e.done = (*C.struct_braid_completion)(C.calloc(C.BRAID_BATCH, C.sizeof_struct_braid_completion))
	e.watchers.Go(e.watchCompletions)
	e.watchers.Go(e.watchAsync)
	return e, nil
}

var start = time.Now()

// Now implements verbs.Engine.
func (e *engine) Now() transport.Time { return transport.Time(time.Since(start)) + 1 }

// Random implements verbs.Engine: bits that a stranger cannot guess.
func (e *engine) Random() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails: the runtime ends the program instead
	return binary.LittleEndian.Uint64(b[:])
}

// Lock implements verbs.Engine.
func (e *engine) Lock() { e.mu.Lock() }

// Unlock implements verbs.Engine. What is posted to the NIC it has already.
func (e *engine) Unlock() {
	if q := e.kicked; q != nil {
		e.kicked = nil
		for q.PollCompletion(&e.delivered) {
			q.sink.Deliver(&e.delivered)
		}
	}
	e.mu.Unlock()
}

// queuePair is one of the NIC or the management queue pair.
type queuePair interface {
	attach(sink verbs.Sink)
	destroy()
}

// Attach implements verbs.Engine.
func (e *engine) Attach(t transport.QP, sink verbs.Sink) error {
	t.(queuePair).attach(sink)
	return nil
}

// Route implements verbs.Engine.
func (e *engine) Route(t transport.QP, remote netip.Addr) error {
	remote = remote.Unmap()
	if remote.Is4() != e.adapter.local.Is4() {
		return fmt.Errorf("%w: the device is at %v, the peer at %v", verbs.ErrParams, e.adapter.local, remote)
	}
	t.(*qp).remote = remote // datagrams have no route
	return nil
}

// Detach implements verbs.Engine.
func (e *engine) Detach(t transport.QP) {
	t.(queuePair).destroy()
	if e.kicked == t {
		e.kicked = nil
	}
}

// Kick implements verbs.Engine. The NIC's queue pairs work by themselves.
func (e *engine) Kick(t transport.QP) {
	if q, ok := t.(*managementQP); ok {
		e.kicked = q
	}
}

// Addresses implements verbs.Engine.
func (e *engine) Addresses() *verbs.Addresses { return &e.addresses }

// Info implements verbs.Engine. A path is a flow label, of which NICs make the source
// port.
func (e *engine) Info() verbs.EngineInfo {
	return verbs.EngineInfo{
		Name: "ibverbs", Local: e.adapter.local, MTU: e.adapter.mtu, Paths: transport.MaxPaths, SourcePorts: transport.MaxPaths,
		Keepalive: verbs.DefaultKeepalive,
	}
}

// Close implements verbs.Engine.
func (e *engine) Close() error {
	if e.closed.Swap(true) {
		return nil
	}
	close(e.stop)
	e.progress.Announce()
	e.events.close()
	e.async.close()
	e.watchers.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range e.cqs {
		C.ibv_destroy_cq(c.cq)
	}
	e.cqs = nil
	C.ibv_destroy_comp_channel(e.channel)
	C.free(unsafe.Pointer(e.request))
	C.free(unsafe.Pointer(e.done))
	if code := C.ibv_close_device(e.adapter.context); code != 0 {
		return explain("close the device", code)
	}
	// Memory that the NIC did not give back before, it has given back now.
	for _, d := range e.domains {
		for _, m := range d.regions {
			m.pin.Unpin()
		}
	}
	return nil
}
