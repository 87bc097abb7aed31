package verbs_test

import (
	"errors"
	"testing"

	"github.com/braid-rdma/braid/internal/loopnet"
	"github.com/braid-rdma/braid/verbs"
)

// TestManagementQP: a device has one queue pair 1, which datagrams of a peer's
// queue pair 1 reach, and which can be made again after it was closed.
func TestManagementQP(t *testing.T) {
	n := loopnet.New(loopnet.Options{})
	a, b := newManagementEnd(t, n), newManagementEnd(t, n)
	if _, err := a.pd.CreateManagementQP(verbs.QPOptions{SendCQ: a.cq}); !errors.Is(err, verbs.ErrLimit) {
		t.Errorf("a second one: %v", err)
	}
	must(t, b.qp.PostRecv(&verbs.RecvWR{ID: 5, SGEs: []verbs.SGE{b.mr.SGE(0, 100)}}))
	ah, err := a.pd.CreateAH(b.dev.Query().Local)
	must(t, err)
	must(t, a.qp.PostSend(&verbs.SendWR{
		Op: verbs.OpSend, Inline: []byte("hello"), AH: ah, RemoteQPN: 1, RemoteQKey: managementKey,
	}))
	<-b.notified
	var c [2]verbs.Completion
	if n, err := b.cq.Poll(c[:]); n != 1 || err != nil || c[0].WRID != 5 || c[0].SrcQP != 1 || string(b.mr.Bytes()[verbs.GRHLength:][:5]) != "hello" {
		t.Errorf("%d, %v: %+v", n, err, c[0])
	}
	must(t, a.qp.Close())
	if _, err = a.pd.CreateManagementQP(verbs.QPOptions{SendCQ: a.cq}); err != nil {
		t.Errorf("after it was closed: %v", err)
	}
}

// TestNotify: the channel tells of completions, of those that came before it
// was asked for, and of the end.
func TestNotify(t *testing.T) {
	n := loopnet.New(loopnet.Options{})
	e := newManagementEnd(t, n)
	must(t, e.qp.PostRecv(&verbs.RecvWR{ID: 1, SGEs: []verbs.SGE{e.mr.SGE(0, 100)}}))
	must(t, e.qp.Modify(verbs.Err, nil))
	<-e.notified
	select {
	case <-e.notified:
		t.Error("told twice of one completion")
	default:
	}
	<-e.cq.Notify()
	if !e.cq.Ready() {
		t.Error("told of nothing")
	}
	must(t, e.cq.Close())
	<-e.notified
}

// TestAttend: while somebody attends the channel tells of nothing, and who waits at another queue is woken. What was not taken
// is told in the end.
func TestAttend(t *testing.T) {
	n := loopnet.New(loopnet.Options{})
	e := newManagementEnd(t, n)
	other, err := e.dev.CreateCQ(1)
	must(t, err)
	if !e.cq.Attend(other) {
		t.Fatal("two queues of one loop cannot be attended together")
	}
	woken := make(chan error, 1)
	go func() { woken <- other.WaitProgress(t.Context(), e.cq) }()
	must(t, e.qp.PostRecv(&verbs.RecvWR{ID: 1, SGEs: []verbs.SGE{e.mr.SGE(0, 100)}}))
	must(t, e.qp.Modify(verbs.Err, nil))
	must(t, <-woken)
	select {
	case <-e.notified:
		t.Error("told of what somebody takes")
	default:
	}
	e.cq.Leave()
	<-e.notified
	var c [1]verbs.Completion
	if !e.cq.Attend(other) {
		t.Fatal("not a second time")
	}
	if n, err := e.cq.Poll(c[:]); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	e.cq.Leave()
	select {
	case <-e.notified:
		t.Error("told of what was taken")
	default:
	}
}

const managementKey = 0x80010000

type managementEnd struct {
	dev      *verbs.Device
	pd       *verbs.PD
	cq       *verbs.CQ
	qp       *verbs.QP
	mr       *verbs.MR
	notified <-chan struct{}
}

func newManagementEnd(t *testing.T, n *loopnet.Network) *managementEnd {
	t.Helper()
	e := &managementEnd{dev: n.Open()}
	t.Cleanup(func() { e.dev.Close() })
	var err error
	e.pd, err = e.dev.CreatePD()
	must(t, err)
	e.cq, err = e.dev.CreateCQ(16)
	must(t, err)
	e.mr, err = e.pd.AllocMemory(4096, verbs.LocalWrite)
	must(t, err)
	e.qp, err = e.pd.CreateManagementQP(verbs.QPOptions{SendCQ: e.cq})
	must(t, err)
	must(t, e.qp.Activate(managementKey))
	e.notified = e.cq.Notify()
	return e
}
