package traffic

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/braid-rdma/braid/operate"
	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/udp"
	"github.com/braid-rdma/braid/verbs"
)

// receivesPerSend is how many receives are posted for each message that may be on
// the way, so that a receiver which is late for a moment need not refuse any.
const receivesPerSend = 4

// queuePair is an end that uses braid.
type queuePair struct {
	spec   Spec
	device *verbs.Device
	cq     *verbs.CQ
	qp     *verbs.QP
	mr     *verbs.MR
	slots  int
	done   [64]verbs.Completion
	took   []int64 // of messages that went alone, in ns

	offering *operate.Offering // nil: there is none
}

// openQueuePair opens a device and all that a flow needs on it, for a role.
func openQueuePair(spec Spec, slots int, role string) (*queuePair, error) {
	device, err := udp.Open(udp.Config{Addr: spec.Local, Paths: spec.Paths})
	if err != nil {
		return nil, err
	}
	q := &queuePair{spec: spec, device: device, slots: slots}
	if err = q.create(); err == nil && spec.Offer {
		q.offering, err = operate.Offer(operate.Source{Device: device, Labels: "role=" + role})
	}
	if err != nil {
		_ = device.Close()
		return nil, err
	}
	return q, nil
}

func (q *queuePair) create() error {
	pd, err := q.device.CreatePD()
	if err != nil {
		return err
	}
	if q.cq, err = q.device.CreateCQ(2 * q.slots); err != nil {
		return err
	}
	if q.mr, err = pd.AllocMemory(q.slots*q.spec.Size, verbs.LocalWrite); err != nil {
		return err
	}
	options := verbs.QPOptions{
		Type: verbs.MP, SendCQ: q.cq, SendDepth: q.slots, RecvDepth: q.slots,
		MaxSendSGE: 1, MaxRecvSGE: 1, SignalAll: true,
	}
	if q.spec.Kind == RC {
		// Without control of its rate a standard queue pair fills the queue of its
		// path over and over, and sends everything again each time.
		options.Type, options.RC = verbs.RC, transport.DCQCNAuthors(float64(q.spec.LineRate)).Options()
	}
	q.qp, err = pd.CreateQP(options)
	return err
}

func (q *queuePair) hello() greeting {
	params := q.qp.Params()
	return greeting{Params: &params}
}

func (q *queuePair) connect(_ context.Context, peer greeting) error {
	if peer.Params == nil {
		return fmt.Errorf("%w: the peer has no queue pair", ErrSpec)
	}
	return q.qp.Connect(*peer.Params)
}

func (q *queuePair) close() {
	if q.offering != nil {
		_ = q.offering.Close()
	}
	_ = q.device.Close()
}

func (q *queuePair) slot(i int) []byte { return q.mr.Bytes()[i*q.spec.Size : (i+1)*q.spec.Size] }

func (q *queuePair) element(slot int) verbs.SGE {
	return q.mr.SGE(slot*q.spec.Size, q.spec.Size)
}

func (q *queuePair) counters() map[string]uint64 {
	stats := q.qp.Stats()
	return stats.Map()
}

// wait returns completions, or the first failure among them.
func (q *queuePair) wait(ctx context.Context) ([]verbs.Completion, error) {
	n, err := q.cq.Wait(ctx, q.done[:])
	if err != nil {
		return nil, err
	}
	for i := range q.done[:n] {
		if err := q.done[i].Err(); err != nil {
			return nil, err
		}
	}
	return q.done[:n], nil
}

// rdmaSender posts SENDs, as many at a time as there are slots.
type rdmaSender struct{ *queuePair }

func newRDMASender(spec Spec) (*rdmaSender, error) {
	q, err := openQueuePair(spec, spec.Depth, "sender")
	if err != nil {
		return nil, err
	}
	for i := range q.slots {
		fillPattern(q.slot(i), i)
	}
	return &rdmaSender{q}, nil
}

// send sends until stop is closed and returns how many messages completed. What
// is on the way then is waited for.
func (s *rdmaSender) send(ctx context.Context, stop <-chan struct{}) (completed uint64, err error) {
	if s.spec.Pause > 0 {
		return s.sendAlone(ctx, stop)
	}
	p := newPacer(&s.spec)
	for posted := uint64(0); ; {
		for !closed(stop) && posted-completed < uint64(s.slots) && p.due(posted) {
			slot := int(posted % uint64(s.slots))
			stamp(s.slot(slot), posted)
			wr := verbs.SendWR{ID: posted, Op: verbs.OpSend, SGEs: []verbs.SGE{s.element(slot)}}
			if err := s.qp.PostSend(&wr); err != nil {
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
		if err != nil {
			return completed, err
		}
		completed += uint64(len(done))
	}
}

// sendAlone sends one message at a time with a pause after it, and notes how long each
// has taken to be acknowledged.
func (s *rdmaSender) sendAlone(ctx context.Context, stop <-chan struct{}) (completed uint64, err error) {
	for ; !closed(stop) && (s.spec.Count == 0 || completed < s.spec.Count); completed++ {
		stamp(s.slot(0), completed)
		began := Now()
		if err := s.qp.PostSend(&verbs.SendWR{Op: verbs.OpSend, SGEs: []verbs.SGE{s.element(0)}}); err != nil {
			return completed, err
		}
		if _, err := s.wait(ctx); err != nil {
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

// times are those of sendAlone.
func (s *rdmaSender) times() []int64 { return s.took }

// rdmaReceiver keeps receives posted and checks what arrives.
type rdmaReceiver struct{ *queuePair }

func newRDMAReceiver(spec Spec) (*rdmaReceiver, error) {
	q, err := openQueuePair(spec, receivesPerSend*spec.Depth, "receiver")
	if err != nil {
		return nil, err
	}
	r := &rdmaReceiver{q}
	if err := r.prepare(); err != nil {
		q.close()
		return nil, err
	}
	return r, nil
}

func (r *rdmaReceiver) prepare() error {
	if err := r.qp.Prepare(); err != nil {
		return err
	}
	for slot := range r.slots {
		if err := r.post(slot); err != nil {
			return err
		}
	}
	return nil
}

func (r *rdmaReceiver) post(slot int) error {
	return r.qp.PostRecv(&verbs.RecvWR{ID: uint64(slot), SGEs: []verbs.SGE{r.element(slot)}})
}

// receive receives until ctx ends, which is no error.
func (r *rdmaReceiver) receive(ctx context.Context, c *checker, m *meter) error {
	for {
		done, err := r.wait(ctx)
		if errors.Is(err, context.Canceled) {
			return nil
		}
		if err != nil {
			return err
		}
		for i := range done {
			slot := int(done[i].WRID)
			c.arrived(r.slot(slot)[:done[i].Bytes])
			m.arrived(Now(), int(done[i].Bytes))
			if err := r.post(slot); err != nil {
				return err
			}
		}
	}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
