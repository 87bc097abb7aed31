package traffic

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"time"

	"github.com/braid-rdma/braid/bundle"
	"github.com/braid-rdma/braid/cm"
	"github.com/braid-rdma/braid/udp"
	"github.com/braid-rdma/braid/verbs"
)

// bundleEnd is an end that uses several queue pairs as one.
type bundleEnd struct {
	spec    Spec
	device  *verbs.Device
	manager *cm.Manager
	pd      *verbs.PD
	mr      *verbs.MR
	conn    *bundle.Conn
	slots   int
	done    [64]bundle.Completion
	took    []int64 // of messages that went alone, in ns
}

func openBundle(spec Spec, slots int) (*bundleEnd, error) {
	config := udp.Config{Addr: spec.Local, Paths: spec.Paths}
	if len(spec.Addresses) > 0 {
		config.Addr = netip.Addr{} // all that the host has
	}
	device, err := udp.Open(config)
	if err != nil {
		return nil, err
	}
	e := &bundleEnd{spec: spec, device: device, slots: slots}
	if err := e.create(); err != nil {
		e.close()
		return nil, err
	}
	return e, nil
}

func (e *bundleEnd) create() (err error) {
	if e.manager, err = cm.New(e.device, cm.Config{}); err != nil {
		return err
	}
	if e.pd, err = e.device.CreatePD(); err != nil {
		return err
	}
	e.mr, err = e.pd.AllocMemory(e.slots*e.spec.Size, verbs.LocalWrite|verbs.RemoteWrite)
	return err
}

// config needs no control of rates: what a queue pair has under way is bounded by its
// chunks.
func (e *bundleEnd) config() bundle.Config {
	c := bundle.Config{PD: e.pd, QueuePairs: e.spec.QueuePairs, Chunk: e.spec.Chunk, Requests: max(e.slots, 1)}
	if n := e.spec.Chunks; n > 0 {
		c.Balancer = func() bundle.Balancer { return bundle.DynamicChunks(n) }
	}
	if e.spec.Window != "" {
		c.Lossy = &bundle.WindowConfig{ByPace: e.spec.Window == "pace"}
	}
	return c
}

func (e *bundleEnd) close() {
	if e.conn != nil {
		_ = e.conn.Close()
	}
	if e.manager != nil {
		_ = e.manager.Close()
	}
	_ = e.device.Close()
}

func (e *bundleEnd) counters() map[string]uint64 {
	s := e.conn.Stats()
	return map[string]uint64{"queue_pairs": uint64(s.QueuePairs), "repairs": uint64(s.Repairs)}
}

func (e *bundleEnd) slot(i int) []byte { return e.mr.Bytes()[i*e.spec.Size : (i+1)*e.spec.Size] }

func (e *bundleEnd) buffer(slot int) bundle.Buffer {
	return bundle.Buffer{MR: e.mr, Offset: slot * e.spec.Size, Length: e.spec.Size}
}

// wait returns completions, and the first failure behind them.
func (e *bundleEnd) wait(ctx context.Context) ([]bundle.Completion, error) {
	n, err := e.conn.Wait(ctx, e.done[:])
	for i := range e.done[:n] {
		if err := e.done[i].Err; err != nil {
			return e.done[:i], err
		}
	}
	return e.done[:n], err
}

type bundleSender struct{ *bundleEnd }

func newBundleSender(spec Spec) (*bundleSender, error) {
	e, err := openBundle(spec, spec.Depth)
	if err != nil {
		return nil, err
	}
	for i := range e.slots {
		fillPattern(e.slot(i), i)
	}
	return &bundleSender{e}, nil
}

func (s *bundleSender) hello() greeting { return greeting{} }

func (s *bundleSender) connect(ctx context.Context, peer greeting) (err error) {
	cfg := s.config()
	cfg.Addresses = peer.Further
	s.conn, err = bundle.Dial(ctx, s.manager, peer.Address, cfg)
	return err
}

// send sends until stop is closed and returns how many messages completed.
func (s *bundleSender) send(ctx context.Context, stop <-chan struct{}) (completed uint64, err error) {
	if s.spec.Pause > 0 {
		return s.sendAlone(ctx, stop)
	}
	p := newPacer(&s.spec)
	for posted := uint64(0); ; {
		for !closed(stop) && posted-completed < uint64(s.slots) && p.due(posted) {
			slot := int(posted % uint64(s.slots))
			stamp(s.slot(slot), posted)
			if err := s.conn.Post(bundle.Request{Op: bundle.OpSend, Local: s.buffer(slot)}); err != nil {
				return completed, err
			}
			posted++
		}
		if completed == posted {
			if closed(stop) {
				return completed, nil
			}
			p.await(posted, stop)
			continue
		}
		done, err := s.wait(ctx)
		completed += uint64(len(done))
		if err != nil {
			return completed, err
		}
	}
}

// sendAlone is rdmaSender.sendAlone.
func (s *bundleSender) sendAlone(ctx context.Context, stop <-chan struct{}) (completed uint64, err error) {
	for ; !closed(stop) && (s.spec.Count == 0 || completed < s.spec.Count); completed++ {
		stamp(s.slot(0), completed)
		began := Now()
		if err := s.conn.Send(ctx, s.buffer(0)); err != nil {
			return completed, err
		}
		s.took = append(s.took, int64(Now()-began))
		select {
		case <-time.After(s.spec.Pause):
		case <-stop:
		}
	}
	return completed, nil
}

func (s *bundleSender) times() []int64 { return s.took }

type bundleReceiver struct {
	*bundleEnd
	listener *bundle.Listener
}

func newBundleReceiver(spec Spec) (*bundleReceiver, error) {
	e, err := openBundle(spec, receivesPerSend*spec.Depth)
	if err != nil {
		return nil, err
	}
	l, err := bundle.Listen(e.manager, 0, e.config())
	if err != nil {
		e.close()
		return nil, err
	}
	return &bundleReceiver{e, l}, nil
}

func (r *bundleReceiver) hello() greeting {
	at := r.spec.Addresses
	if len(at) == 0 {
		at = []netip.Addr{r.spec.Local}
	}
	port := strconv.Itoa(int(r.listener.Addr().Port()))
	return greeting{Address: net.JoinHostPort(at[0].String(), port), Further: at[1:]}
}

// connect takes the connection, and posts receives.
func (r *bundleReceiver) connect(ctx context.Context, _ greeting) (err error) {
	if r.conn, err = r.listener.Accept(ctx); err != nil {
		return fmt.Errorf("%w: no connection: %w", ErrAgent, err)
	}
	for slot := range r.slots {
		if err := r.post(slot); err != nil {
			return err
		}
	}
	return nil
}

func (r *bundleReceiver) post(slot int) error {
	return r.conn.Post(bundle.Request{ID: uint64(slot), Op: bundle.OpReceive, Local: r.buffer(slot)})
}

// receive receives until ctx ends or the sender closes, which is no error. What the
// sender knows to be delivered may be on its way to this program when ctx ends: it comes
// before the news that the sender has closed.
func (r *bundleReceiver) receive(ctx context.Context, c *checker, m *meter) error {
	last, cancel := context.WithCancel(context.Background())
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(time.Second, cancel) })()
	for {
		done, err := r.wait(last)
		for i := range done {
			slot := int(done[i].ID)
			c.arrived(r.slot(slot)[:done[i].Bytes])
			m.arrived(Now(), done[i].Bytes)
			// When the sender has closed, there are still completions to be taken.
			if posted := r.post(slot); err == nil && !errors.Is(posted, bundle.ErrPeerClosed) {
				err = posted
			}
		}
		if errors.Is(err, context.Canceled) || errors.Is(err, bundle.ErrPeerClosed) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
