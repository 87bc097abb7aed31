package perf

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"sync"

	"github.com/braid-rdma/braid/oob"
	"github.com/braid-rdma/braid/verbs"
)

// maxSessions bounds the clients that are served at the same time.
const maxSessions = 64

// Server serves tests. Several clients may come at once; each has its own
// queue pairs and memory.
type Server struct {
	Listener *oob.Listener // required; closed by Serve
	Open     Opener        // required
	// Once ends the server after its first client, whose outcome is the server's.
	Once bool
	// Op and Metric, when not empty, are the only test that is served.
	Op     Op
	Metric Metric
	// Finished hears of the outcome of each client: a result, or an error, or
	// both. It is called by several goroutines; it may be nil.
	Finished func(client string, r *Result, err error)

	mu      sync.Mutex
	devices map[netip.Addr]*verbs.Device
}

// Serve serves clients until ctx ends, which is no error.
func (s *Server) Serve(ctx context.Context) error {
	defer s.Listener.Close()
	defer s.closeDevices()
	var sessions sync.WaitGroup
	defer sessions.Wait()
	slots := make(chan struct{}, maxSessions)
	for {
		conn, err := s.Listener.Accept(ctx)
		if ctx.Err() != nil {
			if err == nil {
				conn.Close()
			}
			return nil
		}
		if err != nil {
			return err
		}
		if s.Once {
			return s.serve(ctx, conn)
		}
		slots <- struct{}{}
		sessions.Go(func() {
			// Finished has told of the error; the other clients do not care.
			_ = s.serve(ctx, conn)
			<-slots
		})
	}
}

// serve serves one client and tells of the outcome.
func (s *Server) serve(ctx context.Context, conn *oob.Conn) error {
	client := conn.RemoteAddr().String()
	result, err := s.serveClient(ctx, conn)
	if s.Finished != nil {
		s.Finished(client, result, err)
	}
	return err
}

func (s *Server) serveClient(ctx context.Context, conn *oob.Conn) (*Result, error) {
	e, err := s.endpoint(ctx, conn)
	if err != nil {
		// The peer may have left before it hears the reason.
		_ = conn.Reject(ctx, err.Error())
		return nil, err
	}
	defer e.close()
	client, err := connect(ctx, conn, e, false)
	if err != nil {
		return nil, err
	}
	defer client.session.Close()
	result, err := client.respond(ctx)
	if err != nil && result == nil {
		err = client.Fail(err)
	}
	return result, err
}

// endpoint makes the server's end of what the client asks for.
func (s *Server) endpoint(ctx context.Context, conn *oob.Conn) (*endpoint, error) {
	client, err := conn.Peer(ctx)
	if err != nil {
		return nil, err
	}
	var h hello
	if err := json.Unmarshal(client.PrivateData, &h); err != nil {
		return nil, fmt.Errorf("%w: the client is not braid perf: %w", ErrSpec, err)
	}
	if h.Version != version {
		return nil, fmt.Errorf("%w: client of version %d, server of version %d: use the same braid on both sides", ErrSpec, h.Version, version)
	}
	if err := h.Spec.Check(); err != nil {
		return nil, err
	}
	if s.Op != "" && (h.Spec.Op != s.Op || h.Spec.Metric != s.Metric) {
		return nil, fmt.Errorf("%w: the server was started for %s %s only: `braid perf serve` serves every test", ErrSpec, s.Op, s.Metric)
	}
	device, err := s.device(localFor(conn.LocalAddr()))
	if err != nil {
		return nil, err
	}
	return newEndpoint(device, h.Spec, rand.Uint64())
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

// device is the device at a local address, opened for the first client that
// needs it.
func (s *Server) device(local netip.Addr) (*verbs.Device, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d := s.devices[local]; d != nil {
		return d, nil
	}
	d, err := s.Open(local)
	if err != nil {
		return nil, err
	}
	if s.devices == nil {
		s.devices = make(map[netip.Addr]*verbs.Device)
	}
	s.devices[local] = d
	return d, nil
}

func (s *Server) closeDevices() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.devices {
		_ = d.Close()
	}
}
