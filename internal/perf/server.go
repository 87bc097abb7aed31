package perf

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/braid-rdma/braid/internal/control"
	"github.com/braid-rdma/braid/verbs"
)

const (
	// maxSessions bounds the clients that are served at the same time.
	maxSessions = 64
	// helloTimeout frees a session whose client connects and says nothing.
	helloTimeout = 10 * time.Second
)

// Server serves tests. Several clients may come at once; each has its own
// queue pairs and memory.
type Server struct {
	Listener net.Listener // required; closed by Serve
	Open     Opener       // required
	// Once ends the server after its first client, whose outcome is the server's.
	Once bool
	// Want, when not empty, is the only test that is served.
	Want struct {
		Op     Op
		Metric Metric
	}
	// Finished hears of the outcome of each client: a result, or an error.
	// It is called by several goroutines; it may be nil.
	Finished func(client string, r *Result, err error)

	mu      sync.Mutex
	devices map[netip.Addr]*verbs.Device
}

// Serve serves clients until ctx ends, which is no error.
func (s *Server) Serve(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(ctx, func() { s.Listener.Close() })
	defer stop()
	var sessions sync.WaitGroup
	defer s.closeDevices()
	defer sessions.Wait()
	defer cancel()
	defer s.Listener.Close()
	slots := make(chan struct{}, maxSessions)
	for {
		tcp, err := s.Listener.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		if s.Once {
			return s.session(ctx, tcp)
		}
		slots <- struct{}{}
		sessions.Go(func() {
			// Finished has told of the error; the other clients do not care.
			_ = s.session(ctx, tcp)
			<-slots
		})
	}
}

// session serves one client.
func (s *Server) session(ctx context.Context, tcp net.Conn) error {
	conn := control.New(tcp)
	defer conn.Close()
	ctx, cancel := conn.Watch(ctx)
	defer cancel()
	result, err := s.serveClient(ctx, conn)
	if err != nil {
		err = giveUp(conn, err)
	}
	if s.Finished != nil {
		s.Finished(tcp.RemoteAddr().String(), result, err)
	}
	return err
}

func (s *Server) serveClient(ctx context.Context, conn *control.Conn) (*Result, error) {
	h, err := s.awaitHello(ctx, conn)
	if err != nil {
		return nil, err
	}
	device, err := s.device(localFor(conn))
	if err != nil {
		return nil, err
	}
	e, err := newEndpoint(device, h.Spec, rand.Uint64())
	defer e.close()
	if err != nil {
		return nil, err
	}
	if err := e.connect(h.Params, h.Region); err != nil {
		return nil, err
	}
	if err := conn.Send(msgWelcome, welcome{Params: e.params(), Region: e.region()}); err != nil {
		return nil, err
	}
	if err := whileServing(ctx, conn, msgGo, new(any), e.serve); err != nil {
		return nil, err
	}
	return respond(ctx, conn, e)
}

// awaitHello receives and checks what the client wants.
func (s *Server) awaitHello(ctx context.Context, conn *control.Conn) (*hello, error) {
	ctx, cancel := context.WithTimeout(ctx, helloTimeout)
	defer cancel()
	var h hello
	if err := conn.Receive(ctx, msgHello, &h); err != nil {
		return nil, err
	}
	if h.Version != version {
		return nil, fmt.Errorf("%w: the client speaks version %d, the server version %d: use the same braid on both sides", ErrSpec, h.Version, version)
	}
	if err := h.Spec.Check(); err != nil {
		return nil, err
	}
	if s.Want.Op != "" && (h.Spec.Op != s.Want.Op || h.Spec.Metric != s.Want.Metric) {
		return nil, fmt.Errorf("%w: this server was started for %s %s, not for %s %s: `braid perf serve` serves every test",
			ErrSpec, s.Want.Op, s.Want.Metric, h.Spec.Op, h.Spec.Metric)
	}
	return &h, nil
}

// respond is the server's side of a test.
func respond(ctx context.Context, conn *control.Conn, e *endpoint) (*Result, error) {
	own := done{}
	if e.spec.Bidirectional {
		var err error
		if own, err = e.run(ctx, nil); err != nil {
			return nil, err
		}
	}
	passive := e.serve
	if e.spec.echoes() {
		passive = e.echo
	}
	var client done
	if err := whileServing(ctx, conn, msgDone, &client, passive); err != nil {
		return nil, err
	}
	if e.spec.Verify {
		var err error
		if own.Verified, err = e.verify(&client); err != nil {
			return nil, err
		}
	}
	own.Counters = e.counters()
	if err := conn.Send(msgDone, own); err != nil {
		return nil, err
	}
	result := new(Result)
	if err := whileServing(ctx, conn, msgBye, result, e.serve); err != nil {
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
		if err := d.Close(); err != nil && !errors.Is(err, verbs.ErrClosed) && s.Finished != nil {
			s.Finished("device", nil, err)
		}
	}
}
