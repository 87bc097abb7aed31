package udp

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/braid-rdma/braid/verbs"
)

const allRights = verbs.LocalWrite | verbs.RemoteWrite | verbs.RemoteRead | verbs.RemoteAtomic

// end is one end of a connection under test.
type end struct {
	t   testing.TB
	dev *verbs.Device
	pd  *verbs.PD
	cq  *verbs.CQ
	qp  *verbs.QP
	mr  *verbs.MR
}

// connect opens two devices on loopback and connects a queue pair of each.
func connect(t testing.TB, cfg Config, o verbs.QPOptions, size int) (a, b *end) {
	t.Helper()
	a, b = openEnd(t, cfg, o, size), openEnd(t, cfg, o, size)
	pa, pb := a.qp.Params(), b.qp.Params()
	noError(t, a.qp.Connect(pb))
	noError(t, b.qp.Connect(pa))
	return a, b
}

func openEnd(t testing.TB, cfg Config, o verbs.QPOptions, size int) *end {
	t.Helper()
	orDefault(&cfg.Loops, 1)
	dev, err := Open(cfg)
	if cfg.Addr.Is6() && (errors.Is(err, ErrPortInUse) || errors.Is(err, ErrNoAddress)) {
		t.Skipf("SKIPPED: IPv6 has one loopback address, which this test needs: %v", err)
	}
	noError(t, err)
	t.Cleanup(func() { noError(t, dev.Close()) })
	s := &end{t: t, dev: dev}
	s.pd, err = dev.CreatePD()
	noError(t, err)
	s.cq, err = dev.CreateCQ(1024)
	noError(t, err)
	s.mr, err = s.pd.AllocMemory(size, allRights)
	noError(t, err)
	o.SendCQ = s.cq
	s.qp, err = s.pd.CreateQP(o)
	noError(t, err)
	return s
}

// patientOptions are those of a queue pair that repeats nothing by itself within the
// time of a test: what is not sent by whoever should send it never comes, and a busy
// machine makes no difference.
func patientOptions(kind verbs.QPType) verbs.QPOptions {
	mp := verbs.WireOptions()
	mp.MinRTO, mp.EarlyRetransmit = 2*patience, 1e9
	return verbs.QPOptions{Type: kind, MP: mp, Conn: verbs.ConnOptions{AckTimeout: 2 * patience}}
}

// sleeps waits until the thread of an end's device sleeps.
func (s *end) sleeps() {
	s.t.Helper()
	e := engineOf(s.dev)
	eventually(s.t, "the device's thread sleeps", e.blocked[sleeperBackground].Load)
}

// wait returns the next completion, which must be a success.
func (s *end) wait() verbs.Completion {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	var out [1]verbs.Completion
	if _, err := s.cq.Wait(ctx, out[:]); err != nil {
		s.t.Fatalf("no completion: %v; %+v", err, s.qp.Stats())
	}
	if err := out[0].Err(); err != nil {
		s.t.Fatalf("completion failed: %v", err)
	}
	return out[0]
}

func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
