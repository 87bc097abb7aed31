package verbs_test

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/braid-rdma/braid/internal/loopnet"
	"github.com/braid-rdma/braid/verbs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const allRights = verbs.LocalWrite | verbs.RemoteWrite | verbs.RemoteRead | verbs.RemoteAtomic | verbs.RemoteInvalidate

// side is one end of a connection under test.
type side struct {
	t   *testing.T
	dev *verbs.Device
	pd  *verbs.PD
	cq  *verbs.CQ
	qp  *verbs.QP
	mr  *verbs.MR
}

// pair is two connected ends over a network in memory.
type pair struct {
	t    *testing.T
	net  *loopnet.Network
	a, b *side
}

func newPair(t *testing.T, o verbs.QPOptions) *pair {
	t.Helper()
	p := &pair{t: t, net: loopnet.New(loopnet.Options{})}
	p.a, p.b = newSide(t, p.net, o), newSide(t, p.net, o)
	if o.Type == verbs.UD {
		must(t, p.a.qp.Activate(testQKey))
		must(t, p.b.qp.Activate(testQKey))
		return p
	}
	pa, pb := p.a.qp.Params(), p.b.qp.Params()
	must(t, p.a.qp.Connect(pb))
	must(t, p.b.qp.Connect(pa))
	return p
}

const testQKey = 0x11111111

func newSide(t *testing.T, n *loopnet.Network, o verbs.QPOptions) *side {
	t.Helper()
	s := &side{t: t, dev: n.Open()}
	t.Cleanup(func() { must(t, s.dev.Close()) })
	var err error
	s.pd, err = s.dev.CreatePD()
	must(t, err)
	s.cq, err = s.dev.CreateCQ(64)
	must(t, err)
	s.mr, err = s.pd.AllocMemory(1<<16, allRights)
	must(t, err)
	if o.SendCQ == nil {
		o.SendCQ = s.cq
	}
	s.qp, err = s.pd.CreateQP(o)
	must(t, err)
	return s
}

// sge names bytes of the side's region.
func (s *side) sge(offset, length int) []verbs.SGE {
	return []verbs.SGE{s.mr.SGE(offset, length)}
}

// post posts a signalled request.
func (s *side) post(wr verbs.SendWR) {
	s.t.Helper()
	wr.Flags |= verbs.Signaled
	must(s.t, s.qp.PostSend(&wr))
}

// wait returns the next completion.
func (s *side) wait() verbs.Completion {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	var out [1]verbs.Completion
	if _, err := s.cq.Wait(ctx, out[:]); err != nil {
		s.t.Fatalf("no completion: %v", err)
	}
	return out[0]
}

// wantDone expects the next completion to be the success of a request.
func (s *side) wantDone(id uint64, op verbs.Op) verbs.Completion {
	s.t.Helper()
	c := s.wait()
	if err := c.Err(); err != nil || c.WRID != id || c.Op != op || c.QPN != s.qp.Number() {
		s.t.Fatalf("completion %+v (%v), want success of %d %v", c, err, id, op)
	}
	return c
}

// wantFailed expects the next completion to be the failure of a request.
func (s *side) wantFailed(id uint64, status verbs.Status) {
	s.t.Helper()
	if c := s.wait(); c.WRID != id || c.Status != status {
		s.t.Fatalf("completion %d %v, want %d %v", c.WRID, c.Status, id, status)
	}
}

// wantIdle expects that no completion is there.
func (s *side) wantIdle() {
	s.t.Helper()
	var out [4]verbs.Completion
	if n, err := s.cq.Poll(out[:]); n != 0 || err != nil {
		s.t.Fatalf("unexpected completions %+v, error %v", out[:n], err)
	}
}

// wantEvent expects the next asynchronous event.
func (s *side) wantEvent(kind verbs.EventKind) verbs.Event {
	s.t.Helper()
	for {
		select {
		case e := <-s.dev.Events():
			if e.Kind == verbs.EventCommEst && kind != e.Kind {
				continue // raised by every connection; no test here is about it
			}
			if e.Kind != kind {
				s.t.Fatalf("event %v, want %v", e, kind)
			}
			return e
		case <-time.After(2 * time.Minute):
			s.t.Fatalf("no event, want %v", kind)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
