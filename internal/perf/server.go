package perf

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/braid-rdma/braid/internal/control"
	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

// maxSessions bounds the clients that are served at the same time.
const maxSessions = 64

// Server serves tests. Several clients may come at once; each has its own
// queue pairs and memory.
type Server struct {
	Listener *Listener // required; closed by Serve
	// Once ends the server after its first client, whose outcome is the server's.
	Once bool
	// Op and Metric, when not empty, are the only test that is served.
	Op     Op
	Metric Metric
	// Finished hears of the outcome of each client: a result, or an error, or
	// both. It is called by several goroutines; it may be nil.
	Finished func(client string, r *Result, err error)
	// Trace receives the events of the server's queue pairs; may be nil.
	Trace transport.Tracer
}

// Serve serves clients until ctx ends, which is no error.
func (s *Server) Serve(ctx context.Context) error {
	defer s.Listener.Close()
	var sessions sync.WaitGroup
	defer sessions.Wait()
	slots := make(chan struct{}, maxSessions)
	for {
		call, err := s.Listener.calls.Next(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		if s.Once {
			return s.serve(ctx, call)
		}
		slots <- struct{}{}
		sessions.Go(func() {
			// Finished has told of the error; the other clients do not care.
			_ = s.serve(ctx, call)
			<-slots
		})
	}
}

// serve serves one client and tells of the outcome.
func (s *Server) serve(ctx context.Context, call *control.Call) error {
	result, err := s.serveClient(ctx, call)
	if s.Finished != nil {
		s.Finished(call.RemoteAddr().String(), result, err)
	}
	return err
}

func (s *Server) serveClient(ctx context.Context, call *control.Call) (*Result, error) {
	line, err := call.Accept(ctx)
	if err != nil {
		return nil, err
	}
	client, err := s.agree(ctx, call.Device(), line)
	if err != nil {
		err = line.Fail(err)
		line.Close()
		return nil, err
	}
	defer client.close()
	var result *Result
	if err = client.join(ctx, client.Admit); err == nil {
		result, err = client.respond(ctx)
	}
	if err != nil && result == nil {
		err = client.Fail(err)
	}
	return result, err
}

// agree makes the server's end of what the client asks for.
func (s *Server) agree(ctx context.Context, d *verbs.Device, line *control.Line) (*connection, error) {
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
	asked.Spec.Trace = s.Trace
	e, err := newEndpoint(d, asked.Spec, rand.Uint64())
	if err != nil {
		return nil, err
	}
	c := &connection{endpoint: e, Line: line}
	if err = c.meet(asked.Shared); err == nil {
		err = c.Send(ctx, msgOffer, regionOf(e.shared))
	}
	if err != nil {
		e.close()
		return nil, err
	}
	return c, nil
}

// respond is the server's side of a test. A result comes with ErrNotVerified too.
func (c *connection) respond(ctx context.Context) (*Result, error) {
	// Nothing is polled yet: the client's first operation may overtake its word.
	if err := c.Receive(ctx, msgGo, new(any)); err != nil {
		return nil, err
	}
	own := done{}
	if c.spec.Bidirectional {
		var err error
		if own, err = c.run(ctx, nil); err != nil {
			return nil, err
		}
	}
	passive := c.serve
	if c.spec.echoes() {
		passive = c.echo
	}
	var client done
	if err := c.receiveWhile(ctx, msgDone, &client, passive); err != nil {
		return nil, err
	}
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
		return nil, err
	}
	if result.Verified != nil && !*result.Verified {
		return result, ErrNotVerified
	}
	return result, nil
}
