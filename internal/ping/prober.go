package ping

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/braid-rdma/braid/cm"
	"github.com/braid-rdma/braid/verbs"
)

var (
	// ErrLost is a probe that no reply came to in time.
	ErrLost = errors.New("no reply")
	// ErrNoHost is a name without an address.
	ErrNoHost = errors.New("no such host")
	// ErrNoRoute is a host that the device cannot send to.
	ErrNoRoute = errors.New("no way to the host")
	// ErrNoResponder is an address at which there is none, or that cannot be reached.
	ErrNoResponder = errors.New("no responder")
	// ErrBusy is a probe that was not sent, for it was beyond what this end may have under way, or the responder of connections.
	// It tells nothing of the network.
	ErrBusy = errors.New("too many at once")
	// ErrClosed is a prober or peer that was closed.
	ErrClosed = errors.New("the prober is closed")
)

// ProberOptions are those of a prober; the zero value is the default.
type ProberOptions struct {
	// SourcePort is the source port of a path of the device. Nil: results do not have it.
	SourcePort func(path int) uint16
	// MPPaths is how many paths multi-path connections ask for; 0: all of the device.
	MPPaths int

	maxWriters int // 0: maxWriters
}

func (o *ProberOptions) connections() int { return cmp.Or(o.maxWriters, maxWriters) }

// ProberCounters tell what a prober has seen.
type ProberCounters struct {
	Malformed uint64 // datagrams that are no replies
	Strays    uint64 // replies that no probe waits for: late, repeated, or of somebody else
}

// Prober sends probes to any number of peers. Its methods may be called from any goroutine.
type Prober struct {
	endpoint
	manager *cm.Manager
	o       ProberOptions
	headers *verbs.MR // of the datagrams that are sent, a slot for each
	zeros   *verbs.MR // the rest of a datagram, and what is written
	paths   int

	malformed, strays atomic.Uint64
	turns             atomic.Uint64 // of probes that use connections

	mu      sync.Mutex
	closed  bool
	pending map[uint64]*pending
	writers map[*connection]struct{} // of all peers, those that are there or being made
	peers   map[*Peer]struct{}

	// posting is held by who posts a datagram and takes what has been sent.
	posting sync.Mutex
	slots   []uint64                     // of headers, those that are free
	sentAt  [datagramSends]time.Duration // by slot, T2

	ctx      context.Context // ends with the prober
	stop     context.CancelFunc
	routines sync.WaitGroup
}

// pending is a probe that waits for its reply.
type pending struct {
	arrived chan arrival // has room for the one
	// What a datagram must have to be the reply.
	source netip.Addr
	qpn    verbs.QPN
	path   uint16
	size   int
}

// arrival is a reply, or the completion of a WRITE.
type arrival struct {
	at     time.Duration // T5
	header header
	err    error
}

// NewProber makes a prober on the device of a connection manager.
func NewProber(m *cm.Manager, o ProberOptions) (*Prober, error) {
	end, err := openEndpoint(m, maxWriters*writerDepth, true)
	if err != nil {
		return nil, fmt.Errorf("ping: %w", err)
	}
	p := &Prober{endpoint: end, manager: m, o: o, paths: end.device.Query().Paths, pending: map[uint64]*pending{}, writers: map[*connection]struct{}{}, peers: map[*Peer]struct{}{}}
	if p.headers, err = p.pd.AllocMemory(datagramSends*headerLen, verbs.LocalWrite); err == nil {
		p.zeros, err = p.pd.AllocMemory(MaxWrite, verbs.LocalWrite)
	}
	if err != nil {
		p.close()
		return nil, fmt.Errorf("ping: %w", err)
	}
	for i := range uint64(datagramSends) {
		p.slots = append(p.slots, i)
	}
	p.ctx, p.stop = context.WithCancel(context.Background())
	p.routines.Go(p.receiveAll)
	return p, nil
}

// Counters tell what the prober has seen.
func (p *Prober) Counters() ProberCounters {
	return ProberCounters{Malformed: p.malformed.Load(), Strays: p.strays.Load()}
}

// Close ends the probes that are under way, and the connections to peers.
func (p *Prober) Close() {
	p.mu.Lock()
	p.closed = true
	peers := slices.Collect(maps.Keys(p.peers))
	p.mu.Unlock()
	p.stop()
	var all sync.WaitGroup
	for _, peer := range peers {
		all.Go(peer.Close)
	}
	all.Wait()
	p.routines.Wait()
	p.close()
}

// start runs a goroutine of the prober, unless it is closed.
func (p *Prober) start(f func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.routines.Go(f)
	return true
}

// receiveAll takes completions until the prober is closed.
func (p *Prober) receiveAll() {
	var done [64]verbs.Completion
	var arrived [len(done)]verbs.Time
	var sources [len(done)]netip.Addr
	for {
		n, err := p.cq.WaitStamped(p.ctx, done[:], arrived[:])
		if err != nil {
			return // it is closed, or the device is, and probes are lost
		}
		p.pd.SourcesOf(done[:n], sources[:])
		for i := range done[:n] {
			p.handle(&done[i], sources[i], time.Duration(arrived[i]))
		}
	}
}

// handle takes a completion.
func (p *Prober) handle(c *verbs.Completion, source netip.Addr, at time.Duration) {
	switch c.Op {
	case verbs.OpWrite:
		if w := p.take(c.WRID, nil); w != nil {
			w.arrived <- arrival{at: at, err: c.Err()}
		}
	case verbs.OpRecv:
		if c.Err() == nil {
			p.handleReply(c, source, at)
			_ = p.receive(c.WRID) // it fails only if the device does
		}
	}
}

// handleReply hands a reply to the probe that waits for it.
func (p *Prober) handleReply(c *verbs.Completion, source netip.Addr, at time.Duration) {
	payload, _ := p.datagram(c)
	h, err := parseHeader(payload, kindReply)
	if err != nil {
		p.malformed.Add(1)
		return
	}
	w := p.take(h.token, func(w *pending) bool {
		return w.source == source && w.qpn == c.SrcQP && w.path == h.path && w.size == len(payload)
	})
	if w == nil {
		p.strays.Add(1)
		return
	}
	w.arrived <- arrival{at: at, header: h}
}

// await enters a probe among those that wait, under a token that nobody can guess.
func (p *Prober) await(w *pending) (token uint64, err error) {
	w.arrived = make(chan arrival, 1)
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed:
		return 0, ErrClosed
	case len(p.pending) >= maxPending:
		return 0, ErrBusy
	}
	for token = 0; token == 0 || p.pending[token] != nil; {
		token = p.device.Engine().Random()
	}
	p.pending[token] = w
	return token, nil
}

// take takes a probe from those that wait, if it fits.
func (p *Prober) take(token uint64, fits func(*pending) bool) *pending {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.pending[token]
	if w == nil || fits != nil && !fits(w) {
		return nil
	}
	delete(p.pending, token)
	return w
}

// sourcePort is the source port of a path, 0: not known.
func (p *Prober) sourcePort(path int) uint16 {
	if p.o.SourcePort == nil {
		return 0
	}
	return p.o.SourcePort(path)
}
