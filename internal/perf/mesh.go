package perf

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/braid-rdma/braid/internal/control"
)

// meshGrace is what the servers of an interrupted FlowMesh may take to their reports. Each has
// interruptGrace for what it has on its way.
const meshGrace = 2*interruptGrace + time.Second

// FlowMesh runs a model of flows between servers (`braid perf serve --flows-to`), from each to each
// other. This end sends none; it says what to do, and puts together what they report.
type FlowMesh struct {
	Addresses []string // of the servers, host:port
	Open      Opener   // required
	// Progress and Interval are as those of Client; Progress is that of all servers together.
	Progress func(Progress)
	Interval time.Duration

	routes routes        // as Client's
	grace  time.Duration // 0: meshGrace
}

// meshHost is the conversation with one server.
type meshHost struct {
	*Client
	line *control.Line

	mu       sync.Mutex
	progress Progress // the latest

	report *flowReport // nil: not yet
}

// meshRun is a run of a FlowMesh.
type meshRun struct {
	spec     *FlowSpec
	hosts    []*meshHost
	interval time.Duration // at which somebody is told
	elapsed  time.Duration // that was told last
}

// reportsPerInterval is how often a server tells how far it is while the client tells it once: the client's
// numbers are older than its clock by so much less.
const reportsPerInterval = 8

// Run runs a model; its Rate is that of each server. As with Client.Run, a result comes with the error of
// ctx if that ends when something has been measured.
func (f *FlowMesh) Run(ctx context.Context, spec FlowSpec) (*FlowResult, error) {
	spec = spec.WithDefaults()
	if len(f.Addresses) < 2 || len(f.Addresses) > MaxMesh {
		return nil, fmt.Errorf("%w: flows between %d hosts: use 2 to %d", ErrSpec, len(f.Addresses), MaxMesh)
	}
	if err := spec.Check(len(f.Addresses) - 1); err != nil {
		return nil, err
	}
	h := newHub(f.Open, len(f.Addresses))
	defer h.close()
	run := &meshRun{spec: &spec, interval: cmp.Or(f.Interval, progressInterval)}
	defer run.close()
	err := f.order(ctx, h, run)
	if err == nil {
		err = run.begin(ctx)
	}
	if err != nil {
		return nil, err
	}
	if err := run.await(ctx, cmp.Or(f.grace, meshGrace), newObserver(f.Progress, run.interval)); err != nil {
		return nil, err
	}
	r, err := run.result()
	switch {
	case err != nil:
		return nil, err
	case r.GoodputGbps == 0:
		return nil, cmp.Or(ctx.Err(), errNoFlow)
	case ctx.Err() != nil:
		r.Interrupted = true
	}
	return r, ctx.Err()
}

// order calls the servers and tells each to which others it is to send.
func (f *FlowMesh) order(ctx context.Context, h *hub, run *meshRun) error {
	var clients []*Client
	for i, address := range f.Addresses {
		c, err := h.client(ctx, address, f.routes)
		if err != nil {
			return named(address, err)
		}
		for j, other := range clients {
			if other.peer == c.peer {
				return fmt.Errorf("%w: %s and %s are the same server", ErrSpec, f.Addresses[j], f.Addresses[i])
			}
		}
		clients = append(clients, c)
	}
	for i, c := range clients {
		channel, err := control.Dial(ctx, c.context, c.target)
		if err != nil {
			return named(c.Address, c.explainDetour(explainDial(err)))
		}
		asked := test{Spec: Spec{Op: orderOp}, Order: newOrder(run.spec, i, othersThan(clients, i), run.interval/reportsPerInterval)}
		line, err := control.Ask(channel, protocol, asked)
		if err != nil {
			channel.Close()
			return named(c.Address, err)
		}
		run.hosts = append(run.hosts, &meshHost{Client: c, line: line})
	}
	return nil
}

// othersThan are the servers but one.
func othersThan(clients []*Client, but int) (peers []netip.AddrPort) {
	for i, c := range clients {
		if i != but {
			peers = append(peers, c.peer)
		}
	}
	return peers
}

// named says of which server an error tells.
func named(host string, err error) error { return fmt.Errorf("%s: %w", host, err) }

// begin waits until all servers are connected to each other, and lets them begin.
func (r *meshRun) begin(ctx context.Context) error {
	for _, h := range r.hosts {
		if err := h.line.Receive(ctx, msgReady, new(any)); err != nil {
			return named(h.Address, err)
		}
	}
	for _, h := range r.hosts {
		if err := h.line.Send(ctx, msgGo, nil); err != nil {
			return named(h.Address, err)
		}
	}
	return nil
}

// await waits for the reports. When ctx ends the servers are told to end, and may take some time more to
// report; those that do not are missed. Otherwise one that fails ends it for all.
func (r *meshRun) await(ctx context.Context, grace time.Duration, o observer) error {
	steps, release := graceful(ctx, grace, func() {
		for _, h := range r.hosts {
			go func() { _ = h.line.Send(context.WithoutCancel(ctx), msgStop, nil) }() // ends with the conversation
		}
	})
	defer release()
	listening, stopListening := context.WithCancelCause(steps)
	var waiting sync.WaitGroup
	tellTheRest := o.every(r.progress)
	for _, h := range r.hosts {
		waiting.Go(func() { h.listen(listening) })
		waiting.Go(func() {
			report := new(flowReport)
			if err := h.line.Result(listening, report); err != nil {
				if ctx.Err() == nil {
					stopListening(named(h.Address, err))
				}
				return
			}
			h.finish(report)
		})
	}
	waiting.Wait()
	stopListening(nil)
	tellTheRest()
	if cause := context.Cause(listening); ctx.Err() == nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}

// listen takes in how far a server is, until it reports.
func (h *meshHost) listen(ctx context.Context) {
	for {
		var p Progress
		if h.line.Receive(ctx, msgProgress, &p) != nil {
			return // Result tells why
		}
		h.mu.Lock()
		if h.report == nil {
			h.progress = p
		}
		h.mu.Unlock()
	}
}

func (h *meshHost) finish(report *flowReport) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.report, h.progress = report, report.Progress
}

// progress is how far all servers together are. Its time is that of the servers when they told it.
func (r *meshRun) progress(elapsed time.Duration) Progress {
	var sum Progress
	for _, h := range r.hosts {
		h.mu.Lock()
		at := h.progress.Elapsed
		if h.report == nil && (at == 0 || elapsed-at > r.interval) {
			at = elapsed // nothing comes of it
		}
		sum.Elapsed += at / time.Duration(len(r.hosts))
		sum.add(&h.progress)
		h.mu.Unlock()
	}
	r.elapsed = max(r.elapsed, sum.Elapsed)
	sum.Elapsed = r.elapsed
	return sum
}

func (r *meshRun) close() {
	for _, h := range r.hosts {
		h.line.Close()
	}
}
