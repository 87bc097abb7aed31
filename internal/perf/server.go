package perf

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"sync"
	"time"

	"github.com/braid-rdma/braid/internal/control"
	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

// Server serves tests. Several clients may come at once; each has its own
// queue pairs and memory.
type Server struct {
	Listener *Listener // required; closed by Serve
	// Once ends the server after its first client, whose outcome is the server's.
	Once bool
	// Op and Metric, when not empty, are the only test that is served.
	Op     Op
	Metric Metric
	// Finished is called with the outcome of each client: a result, or an error,
	// or both. It is called by several goroutines; it may be nil.
	Finished func(client string, r *Result, err error)
	Limits   Limits
	// Trace receives the events of the server's queue pairs; may be nil.
	Trace transport.Tracer
}

// Serve serves clients until ctx ends, which is no error.
func (s *Server) Serve(ctx context.Context) error {
	defer s.Listener.Close()
	var sessions sync.WaitGroup
	defer sessions.Wait()
	accepting, stop := context.WithCancel(ctx)
	defer stop()
	budget := newBudget(s.Limits)
	callers, failed := make(chan *caller), make(chan error, 1)
	sessions.Go(func() { failed <- s.acceptCalls(accepting, budget, &sessions, callers) })
	for {
		select {
		case c := <-callers:
			grant, err := budget.enter(c.address.Addr())
			if err != nil {
				sessions.Go(func() { c.refuse(err) })
				continue
			}
			if s.Once {
				return s.serve(ctx, c, grant)
			}
			sessions.Go(func() {
				// Finished has reported the error, which does not concern the other clients.
				_ = s.serve(ctx, c, grant)
			})
		case err := <-failed:
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
	}
}

// caller is a client that has shown that it is there.
type caller struct {
	address netip.AddrPort
	device  *verbs.Device
	line    *control.Line
}

// refuse tells a client why it is not served.
func (c *caller) refuse(reason error) {
	_ = c.line.Fail(reason) // it returns the reason
	c.line.Close()
}

// acceptCalls completes the handshakes of all that call, at the same time, until
// the context ends. A session begins only when a handshake is over: one that
// does not complete it takes nothing from the others.
func (s *Server) acceptCalls(ctx context.Context, b *budget, running *sync.WaitGroup, callers chan<- *caller) error {
	var h handshakes
	for {
		call, err := s.Listener.calls.Next(ctx)
		if err != nil {
			return err
		}
		// Without a session to be had there is no need to call back.
		g, err := b.enter(call.RemoteAddr().Addr())
		if err != nil {
			call.Reject(err)
			continue
		}
		g.release()
		shaking, end := h.begin(ctx)
		running.Go(func() {
			line, err := call.Accept(shaking)
			err = causeOf(shaking, err)
			end()
			if err != nil {
				s.finished(call.RemoteAddr(), nil, err)
				return
			}
			select {
			case callers <- &caller{address: call.RemoteAddr(), device: call.Device(), line: line}:
			case <-ctx.Done():
				line.Close()
			}
		})
	}
}

func (s *Server) finished(client netip.AddrPort, r *Result, err error) {
	if s.Finished != nil {
		s.Finished(client.String(), r, err)
	}
}

// serve serves one client and tells of the outcome, when the next can have its place.
func (s *Server) serve(ctx context.Context, c *caller, g *grant) error {
	result, err := s.serveClient(ctx, c, g)
	g.release()
	s.finished(c.address, result, err)
	return err
}

func (s *Server) serveClient(ctx context.Context, c *caller, g *grant) (*Result, error) {
	idle := g.budget.limits.Idle
	beginning, stop := withinIdle(ctx, idle)
	defer stop()
	client, err := s.agree(beginning, c.device, c.line, g)
	if err != nil {
		err = c.line.Fail(causeOf(beginning, err))
		c.line.Close()
		return nil, err
	}
	defer client.close()
	if err = client.join(beginning, client.Admit); err == nil {
		// Nothing is polled yet: the client's first operation may overtake its word.
		err = client.Receive(beginning, msgGo, new(any))
	}
	err = causeOf(beginning, err)
	var result *Result
	if err == nil {
		result, err = client.respond(ctx, idle)
	}
	if err != nil && result == nil {
		err = client.Fail(err)
	}
	return result, err
}

// agree makes the server's end of what the client asks for.
func (s *Server) agree(ctx context.Context, d *verbs.Device, line *control.Line, g *grant) (*connection, error) {
	var asked test
	if err := line.Receive(ctx, msgTest, &asked); err != nil {
		return nil, err
	}
	if err := asked.Spec.Check(); err != nil {
		return nil, err
	}
	if s.Op != "" && (asked.Spec.Op != s.Op || asked.Spec.Metric != s.Metric) {
		return nil, fmt.Errorf("%w: the server was started for %s %s only: `braid perf serve` serves every test", ErrSpec, s.Op, s.Metric)
	}
	if err := g.reserve(asked.Spec.memory()); err != nil {
		return nil, err
	}
	asked.Spec.Trace = s.Trace
	e, err := newEndpoint(d, asked.Spec, rand.Uint64())
	if err != nil {
		return nil, err
	}
	c := &connection{endpoint: e, Line: line}
	if err = c.setPeer(asked.Shared); err == nil {
		err = c.Send(ctx, msgOffer, regionOf(e.shared))
	}
	if err != nil {
		e.close()
		return nil, err
	}
	return c, nil
}

// takePart runs the server's side of the operations until the client has done with
// its own, and returns what came of both.
func (c *connection) takePart(ctx context.Context, idle time.Duration) (own, client done, err error) {
	ctx, stop := watchIdle(ctx, idle, c.packetsReceived)
	defer stop()
	if c.spec.Bidirectional {
		if own, err = c.run(ctx, nil); err != nil {
			return own, client, causeOf(ctx, err)
		}
	}
	passive := c.serve
	if c.spec.echoes() {
		passive = c.echo
	}
	err = c.receiveWhile(ctx, msgDone, &client, passive)
	return own, client, causeOf(ctx, err)
}

// packetsReceived counts over all queue pairs.
func (e *endpoint) packetsReceived() (packets uint64) {
	for _, qp := range e.qps {
		packets += qp.Stats().PacketsReceived
	}
	return packets
}

// respond is the server's side of a test. A result comes with ErrNotVerified too.
func (c *connection) respond(ctx context.Context, idle time.Duration) (*Result, error) {
	own, client, err := c.takePart(ctx, idle)
	if err != nil {
		return nil, err
	}
	ctx, stop := withinIdle(ctx, idle)
	defer stop()
	if c.spec.Verify {
		var err error
		if own.Verified, err = c.verify(&client); err != nil {
			return nil, err
		}
	}
	own.Counters = c.counters()
	if err := c.Send(ctx, msgDone, own); err != nil {
		return nil, err
	}
	// The client leaves after its goodbye, which flushes the receives: nothing
	// is polled any more.
	result := new(Result)
	if err := c.Receive(ctx, msgBye, result); err != nil {
		return nil, causeOf(ctx, err)
	}
	if result.Verified != nil && !*result.Verified {
		return result, ErrNotVerified
	}
	return result, nil
}
