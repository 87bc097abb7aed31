package perf

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/braid-rdma/braid/internal/perftest"
	"github.com/braid-rdma/braid/verbs"
)

// Limits of what a client of perftest is served with. Its exchange does not tell
// the size of its messages: the memory is that of its own largest test (-a).
const (
	perftestMemory = 8 << 20
	perftestQPs    = 64
	perftestDepth  = 512 // receives of a queue pair, as in perftest
	// perftestSession is a bound of what all of it costs.
	perftestSession = perftestMemory + perftestQPs*perftestDepth*queueEntryBytes
)

// PerftestServer serves clients of perftest: ib_write_bw, ib_read_bw,
// ib_send_bw, ib_read_lat, ib_atomic_bw and ib_atomic_lat with any options, at the
// same time or one after the other. In ib_send_lat and ib_write_lat the server plays
// as much as the client; they need a Spec.
type PerftestServer struct {
	Listener net.Listener // required; closed by Serve
	Open     Opener       // required
	Once     bool         // end after the first client, whose outcome is the server's
	// Spec, if set, is the only test that is served, with the options that the
	// client was started with.
	Spec *Spec
	// Finished is called with the outcome of each client, as Server.Finished is. A
	// result is nil where the client tells none.
	Finished func(client string, r *Result, err error)
	Limits   Limits

	mu      sync.Mutex
	devices map[netip.Addr]*verbs.Device
}

// Serve serves clients until ctx ends, which is no error.
func (s *PerftestServer) Serve(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { s.Listener.Close() })
	defer stop()
	defer s.Listener.Close()
	defer s.closeDevices()
	var sessions sync.WaitGroup
	defer sessions.Wait()
	budget := newBudget(s.Limits)
	for {
		conn, err := s.Listener.Accept()
		if ctx.Err() != nil {
			if err == nil {
				conn.Close()
			}
			return nil
		}
		if err != nil {
			return err
		}
		grant, err := budget.enter(conn.RemoteAddr().(*net.TCPAddr).AddrPort().Addr())
		if err != nil {
			conn.Close() // the exchange has no message for it
			continue
		}
		if s.Once {
			return s.serve(ctx, conn, grant)
		}
		sessions.Go(func() {
			// Finished has reported the error, which does not concern the other clients.
			_ = s.serve(ctx, conn, grant)
		})
	}
}

// serve serves one client and tells of the outcome.
func (s *PerftestServer) serve(ctx context.Context, conn net.Conn, g *grant) error {
	defer g.release()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	client := conn.RemoteAddr().String()
	play, memory := s.respond, int64(perftestSession)
	if s.Spec != nil && s.Spec.echoes() {
		play, memory = s.playAlong, s.Spec.memory()
	}
	var result *Result
	err := g.reserve(memory)
	if err == nil {
		result, err = play(ctx, conn, g.budget.limits.Idle)
	}
	if s.Finished != nil {
		s.Finished(client, result, err)
	}
	return err
}

// device is the one at the address that the client has reached.
func (s *PerftestServer) device(conn net.Conn) (*verbs.Device, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	local := localFor(conn.LocalAddr())
	if d := s.devices[local]; d != nil {
		return d, nil
	}
	d, err := s.Open(local)
	if err != nil {
		return nil, err
	}
	if s.devices == nil {
		s.devices = map[netip.Addr]*verbs.Device{}
	}
	s.devices[local] = d
	return d, nil
}

func (s *PerftestServer) closeDevices() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.devices {
		_ = d.Close()
	}
}

// playAlong is the server of a test in which both ends send.
func (s *PerftestServer) playAlong(ctx context.Context, conn net.Conn, idle time.Duration) (*Result, error) {
	device, err := s.device(conn)
	if err != nil {
		conn.Close()
		return nil, err
	}
	p, _, err := newPerftestEnd(conn, nil, device, *s.Spec, false)
	if err != nil {
		return nil, err
	}
	defer p.close()
	if err := p.connect(); err != nil {
		return nil, err
	}
	ctx, stopWatching := watchIdle(ctx, idle, p.packetsReceived)
	defer stopWatching()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if p.spec.Op == Write {
		m := newMeter()
		if err := p.bounce(ctx, false, m); err != nil {
			return nil, err
		}
		return p.result(m), nil
	}
	// The client ends the conversation when it has had all its replies.
	echoing, stop := context.WithCancel(ctx)
	echoed := make(chan error, 1)
	go func() { echoed <- p.echo(echoing) }()
	err = p.talk.Farewell(p.keys[0])
	stop()
	return nil, causeOf(ctx, errors.Join(err, <-echoed))
}

// respond serves a client that is the only one to act.
func (s *PerftestServer) respond(ctx context.Context, conn net.Conn, idle time.Duration) (*Result, error) {
	device, err := s.device(conn)
	if err != nil {
		conn.Close()
		return nil, err
	}
	talk, err := perftest.Open(conn, false, device.Engine().Info().MTU)
	if err != nil {
		return nil, err
	}
	defer talk.Close()
	r, err := newPerftestResponder(device, talk.MTU())
	if err != nil {
		return nil, err
	}
	defer r.close()
	ctx, stopWatching := watchIdle(ctx, idle, r.packetsReceived)
	defer stopWatching()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	// The receives are kept filled for as long as the client talks.
	serving, stop := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() { served <- r.refill(serving) }()
	result, err := r.converse(talk)
	stop()
	if err := <-served; err != nil && result == nil {
		return nil, causeOf(ctx, err)
	}
	return result, causeOf(ctx, err)
}

// packetsReceived counts over all queue pairs.
func (r *perftestResponder) packetsReceived() (packets uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, qp := range r.qps {
		packets += qp.Stats().PacketsReceived
	}
	return packets
}

// converse replies to whatever the client says until it is done.
func (r *perftestResponder) converse(talk *perftest.Conn) (*Result, error) {
	var result *Result
	for {
		request, err := talk.NextRequest()
		if err != nil {
			return nil, err
		}
		switch request.Kind {
		case perftest.EndRequest:
			return result, nil
		case perftest.KeysRequest:
			keys, err := r.keysFor(request.Keys)
			if err != nil {
				return nil, err
			}
			if err := talk.ReplyKeys(keys); err != nil {
				return nil, err
			}
		case perftest.ReportRequest:
			report, err := talk.ReplyReport(perftest.Report{})
			if err != nil {
				return nil, err
			}
			result = r.result(report)
		}
	}
}

// result is a client's report in our terms.
func (r *perftestResponder) result(report perftest.Report) *Result {
	return &Result{
		Metric: Bandwidth, Bytes: int(report.Size), Iterations: report.Iterations,
		PeakMiBps: report.Peak, AverageMiBps: report.Average, MessageRateMpps: report.Rate,
		GoodputGbps: report.Average * (1 << 20) * 8 / 1e9,
		QP:          "rc", QPs: len(r.qps), MTU: r.mtu,
	}
}

var errTooManyQPs = fmt.Errorf("%w: the client has more than %d queue pairs", ErrSpec, perftestQPs)
