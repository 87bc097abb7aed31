package loopnet_test

import (
	"context"
	"net/netip"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braid-rdma/braid/internal/loopnet"
	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

// A device that loses every other packet still completes, in virtual time.
func TestFilterLosesAndTimersRecover(t *testing.T) {
	for _, kind := range []verbs.QPType{verbs.RC, verbs.MP} {
		t.Run(kind.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { writeOverLoss(t, kind) })
		})
	}
}

func writeOverLoss(t *testing.T, kind verbs.QPType) {
	n := loopnet.New(loopnet.Options{MTU: 1024})
	var seen atomic.Int64
	n.SetFilter(func(_, _ netip.Addr, _ *transport.Packet) bool { return seen.Add(1)%5 != 0 })
	a, cq := open(t, n, kind)
	b, _ := open(t, n, kind)
	mr, err := b.PD().AllocMemory(1<<16, verbs.LocalWrite|verbs.RemoteWrite)
	must(t, err)
	src, err := a.PD().AllocMemory(1<<16, 0)
	must(t, err)
	for i := range src.Bytes() {
		src.Bytes()[i] = byte(i * 3)
	}
	pa, pb := a.Params(), b.Params()
	must(t, a.Connect(pb))
	must(t, b.Connect(pa))
	must(t, a.PostSend(&verbs.SendWR{
		Op: verbs.OpWrite, Flags: verbs.Signaled, RemoteAddr: mr.Addr(), RKey: mr.RKey(),
		SGEs: []verbs.SGE{src.All()},
	}))
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	var out [1]verbs.Completion
	_, err = cq.Wait(ctx, out[:])
	must(t, err)
	must(t, out[0].Err())
	got := make([]byte, src.Len())
	must(t, mr.Load(0, got))
	if string(got) != string(src.Bytes()) {
		t.Error("the data arrived wrong")
	}
	if a.Stats().Retransmitted == 0 {
		t.Error("nothing was retransmitted: the filter did not work")
	}
}

func open(t *testing.T, n *loopnet.Network, kind verbs.QPType) (*verbs.QP, *verbs.CQ) {
	t.Helper()
	d := n.Open()
	t.Cleanup(func() { d.Close() })
	pd, err := d.CreatePD()
	must(t, err)
	cq, err := d.CreateCQ(16)
	must(t, err)
	q, err := pd.CreateQP(verbs.QPOptions{Type: kind, SendCQ: cq})
	must(t, err)
	return q, cq
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
