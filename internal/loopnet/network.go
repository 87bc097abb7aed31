package loopnet

import (
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

// Filter decides on each packet on its way from one address to another: false
// drops it. It is called from several threads.
type Filter func(from, to netip.Addr, p *transport.Packet) bool

// Options of a network; zero values stand for the defaults.
type Options struct {
	MTU   int // default 4096
	Paths int // default 4
}

// Network connects the devices that it opens.
type Network struct {
	options Options
	filter  atomic.Pointer[Filter]

	mu      sync.RWMutex
	engines map[netip.Addr]*engine
	last    netip.Addr
}

// New makes a network without devices.
func New(o Options) *Network {
	if o.MTU == 0 {
		o.MTU = transport.MaxMTU
	}
	if o.Paths == 0 {
		o.Paths = 4
	}
	return &Network{
		options: o,
		engines: make(map[netip.Addr]*engine),
		last:    netip.AddrFrom4([4]byte{10, 0, 0, 0}),
	}
}

// Open makes a device at a fresh address of the network.
func (n *Network) Open() *verbs.Device {
	n.mu.Lock()
	n.last = n.last.Next()
	e := newEngine(n, n.last)
	n.engines[e.local] = e
	n.mu.Unlock()
	go e.run()
	return verbs.Open(e)
}

// SetFilter makes f decide on every packet from now on; nil lets all pass.
func (n *Network) SetFilter(f Filter) {
	if f == nil {
		n.filter.Store(nil)
		return
	}
	n.filter.Store(&f)
}

// engineAt is the engine at an address, or nil.
func (n *Network) engineAt(a netip.Addr) *engine {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.engines[a]
}

func (n *Network) remove(a netip.Addr) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.engines, a)
}

// passes asks the filter.
func (n *Network) passes(from, to netip.Addr, p *transport.Packet) bool {
	f := n.filter.Load()
	return f == nil || (*f)(from, to, p)
}
