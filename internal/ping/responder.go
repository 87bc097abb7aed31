package ping

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/braid-rdma/braid/cm"
	"github.com/braid-rdma/braid/verbs"
)

// ResponderOptions say what a responder gives to strangers; zero values stand for the defaults.
type ResponderOptions struct {
	// Port is what probers connect to; 0 takes a free one.
	Port uint16
	// Connections bounds those of all probers; one address may have a quarter of them.
	Connections int
	// Idle is how long a connection without a WRITE lives.
	Idle time.Duration
	// Rate is how many datagrams per second of one source are replied to.
	Rate int
	// SourcePort is the source port of a path of the device, which is told to probers. Nil: it is
	// not known.
	SourcePort func(path int) uint16
}

// ResponderCounters tell what a responder has seen.
type ResponderCounters struct {
	Replies   uint64 // probes that were replied to
	Malformed uint64 // datagrams and requests that are no probes
	Limited   uint64 // probes of a source that sends too many
	Dropped   uint64 // replies that could not be sent
	Granted   uint64 // connections for WRITEs
	Busy      uint64 // requests for one that found no room
}

// Responder replies to probes.
type Responder struct {
	endpoint
	o        ResponderOptions
	paths    int
	listener *cm.Listener
	target   *verbs.MR // of all WRITEs: nobody reads it
	limit    *rateLimit

	replies, malformed, limited, dropped, granted, busy atomic.Uint64

	mu          sync.Mutex
	connections int
	byAddress   map[netip.Addr]int
}

// NewResponder makes a responder on the device of a connection manager. Serve runs it.
func NewResponder(m *cm.Manager, o ResponderOptions) (*Responder, error) {
	orDefault(&o.Connections, DefaultConnections)
	orDefault(&o.Idle, DefaultIdle)
	orDefault(&o.Rate, DefaultRate)
	end, err := openEndpoint(m, 0, false)
	if err != nil {
		return nil, fmt.Errorf("ping: %w", err)
	}
	r := &Responder{
		endpoint: end, o: o, paths: end.device.Query().Paths,
		limit: newRateLimit(o.Rate), byAddress: map[netip.Addr]int{},
	}
	if r.target, err = r.pd.AllocMemory(MaxWrite, verbs.LocalWrite|verbs.RemoteWrite); err == nil {
		r.listener, err = m.ListenProven(o.Port)
	}
	if err != nil {
		r.close()
		return nil, fmt.Errorf("ping: %w", err)
	}
	return r, nil
}

func orDefault[T int | time.Duration](field *T, value T) {
	if *field == 0 {
		*field = value
	}
}

// Addr is where probers connect to; of a device that was opened without an address, as programs
// on this host reach it.
func (r *Responder) Addr() netip.AddrPort { return r.listener.Addr() }

// Counters tell what the responder has seen.
func (r *Responder) Counters() ResponderCounters {
	return ResponderCounters{
		Replies: r.replies.Load(), Malformed: r.malformed.Load(), Limited: r.limited.Load(),
		Dropped: r.dropped.Load(), Granted: r.granted.Load(), Busy: r.busy.Load(),
	}
}

// Close frees what the responder holds, once Serve has returned.
func (r *Responder) Close() {
	_ = r.listener.Close() // never fails
	r.close()
}

// Serve replies to probes until ctx ends, which is no error, or the device fails.
func (r *Responder) Serve(ctx context.Context) error {
	running, stop := context.WithCancelCause(ctx)
	var all sync.WaitGroup
	all.Go(func() { stop(r.replyToAll(running)) })
	all.Go(func() { stop(r.acceptAll(running, &all)) })
	all.Wait()
	if ctx.Err() != nil {
		return nil
	}
	return context.Cause(running)
}

// replyToAll takes datagrams as they come.
func (r *Responder) replyToAll(ctx context.Context) error {
	var done [64]verbs.Completion
	var arrived [len(done)]verbs.Time
	var sources [len(done)]netip.Addr
	for {
		n, err := r.cq.WaitStamped(ctx, done[:], arrived[:])
		if err != nil {
			return err
		}
		r.pd.SourcesOf(done[:n], sources[:])
		for i := range done[:n] {
			if err := r.handle(&done[i], sources[i], time.Duration(arrived[i])); err != nil {
				return err
			}
		}
	}
}

// handle replies to a datagram in its own memory, or posts the receive again: one that was replied
// to when the reply has gone.
func (r *Responder) handle(c *verbs.Completion, source netip.Addr, arrived time.Duration) error {
	if c.Op == verbs.OpRecv && c.Err() == nil && r.reply(c, source, arrived) {
		return nil
	}
	if errors.Is(c.Err(), verbs.ErrFlushed) {
		return c.Err() // the queue pair has ended, and takes no receives
	}
	return r.receive(c.WRID)
}

// reply replies to a probe, by the path that the probe names and no longer than it was. What is
// no probe, and what comes too often, it counts.
func (r *Responder) reply(c *verbs.Completion, source netip.Addr, arrived time.Duration) bool {
	payload, offset := r.datagram(c)
	h, err := parseHeader(payload, kindProbe)
	switch {
	case err != nil || !source.IsValid():
		r.malformed.Add(1)
		return false
	case !r.limit.allows(source, arrived):
		r.limited.Add(1)
		return false
	}
	path := int(h.path) % r.paths
	h.kind, h.arrived, h.port = kindReply, arrived, 0
	if r.o.SourcePort != nil {
		h.port = r.o.SourcePort(path)
	}
	h.replied = r.now()
	h.put(payload)
	err = r.qp.PostSend(&verbs.SendWR{
		ID: c.WRID, Op: verbs.OpSend, Flags: verbs.Signaled, SGEs: []verbs.SGE{r.mr.SGE(offset, len(payload))},
		AH: verbs.AHOnPath(c.Source, path), RemoteQPN: c.SrcQP, RemoteQKey: verbs.QKey(h.qkey),
	})
	if err != nil {
		r.dropped.Add(1)
		return false
	}
	r.replies.Add(1)
	return true
}
