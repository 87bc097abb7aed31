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
	// Orders, when not nil, lets clients ask for flows to other servers.
	Orders *Orders
}

// Serve serves clients until ctx ends, which is no error.
func (s *Server) Serve(ctx context.Context) error {
	defer s.Listener.Close()
	var sessions sync.WaitGroup
	defer sessions.Wait()
	budget := newBudget(s.Limits)
	for {
		c, err := s.Listener.accept(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		grant, err := budget.enter(c.channel.RemoteAddr().Addr())
		if err != nil {
			sessions.Go(func() { c.refuse(ctx, err) })
			continue
		}
		if s.Once {
			return s.serve(ctx, c, grant)
		}
		sessions.Go(func() {
			// Finished has reported the error, which does not concern the other clients.
			_ = s.serve(ctx, c, grant)
		})
	}
}

// refusalTime is how long a client may take to call that is not served: it holds a
// channel meanwhile.
const refusalTime = time.Second

// refuse tells a client why it is not served.
func (c *caller) refuse(ctx context.Context, reason error) {
	ctx, cancel := context.WithTimeout(ctx, refusalTime)
	defer cancel()
	if line, err := control.Accept(ctx, c.channel, protocol, new(test)); err == nil {
		_ = line.Fail(reason) // it returns the reason
		line.Close()
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
	s.finished(c.channel.RemoteAddr(), result, err)
	return err
}

func (s *Server) serveClient(ctx context.Context, c *caller, g *grant) (*Result, error) {
	idle := g.budget.limits.Idle
	beginning, stop := withinIdle(ctx, idle)
	defer stop()
	var asked test
	line, err := control.Accept(beginning, c.channel, protocol, &asked)
	if err != nil {
		return nil, causeOf(beginning, err)
	}
	defer line.Close()
	if asked.Order != nil {
		return nil, s.obey(ctx, line, c, asked.Order, g)
	}
	e, err := s.agree(c.device, &asked.Spec, g)
	if err != nil {
		return nil, line.Fail(err)
	}
	defer e.close()
	client := &connection{endpoint: e, Line: line, address: c.channel.RemoteAddr().Addr()}
	err = causeOf(beginning, client.begin(beginning, &asked.Side))
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
func (s *Server) agree(d *verbs.Device, asked *Spec, g *grant) (*endpoint, error) {
	if err := asked.Check(); err != nil {
		return nil, err
	}
	if s.Op != "" && (asked.Op != s.Op || asked.Metric != s.Metric) {
		return nil, fmt.Errorf("%w: the server was started for %s %s only: `braid perf serve` serves every test", ErrSpec, s.Op, s.Metric)
	}
	if err := g.reserve(asked.memory()); err != nil {
		return nil, err
	}
	asked.Trace = s.Trace
	return newEndpoint(d, *asked, rand.Uint64())
}

// begin connects the queue pairs and waits until the client has done so too. Nothing is
// polled yet: the client's first operation may overtake its word.
func (c *connection) begin(ctx context.Context, client *offer) error {
	if err := c.connect(client); err != nil {
		return err
	}
	side, err := c.side()
	if err != nil {
		return err
	}
	if err := c.Send(ctx, msgOffer, side); err != nil {
		return err
	}
	return c.Receive(ctx, msgGo, new(any))
}

// takePart runs the server's side of the operations until the client has done with
// its own, and returns what came of both.
func (c *connection) takePart(ctx context.Context, idle time.Duration) (own, client done, err error) {
	ctx, stop := watchIdle(ctx, idle, c.packetsReceived)
	defer stop()
	word := c.awaitDone(ctx)
	if c.spec.Bidirectional {
		if own, err = c.run(ctx, newMeter(), observer{}); err != nil {
			return own, client, causeOf(ctx, err)
		}
	}
	passive := c.serve
	if c.spec.echoes() {
		passive = c.echo
	}
	err = whilePassive(ctx, func(ctx context.Context) error { return word.wait(ctx, &client) }, passive)
	return own, client, causeOf(ctx, err)
}

// clientsWord is the client's msgDone, which may come while this end still sends.
type clientsWord struct {
	came chan struct{} // closed when there is the message, or the error
	done done
	err  error
}

// awaitDone receives the client's msgDone. One that was interrupted interrupts this end, too.
func (c *connection) awaitDone(ctx context.Context) *clientsWord {
	word := &clientsWord{came: make(chan struct{})}
	go func() {
		defer close(word.came)
		if word.err = c.Receive(ctx, msgDone, &word.done); word.done.Interrupted {
			c.interrupted.Store(true)
		}
	}()
	return word
}

func (w *clientsWord) wait(ctx context.Context, message *done) error {
	select {
	case <-w.came:
		*message = w.done
		return w.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
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
	if err := c.End(ctx, own); err != nil {
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
