package verbs_test

import (
	"errors"
	"testing"

	"github.com/braid-rdma/braid/internal/loopnet"
	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

// TestRetypeKeepsTheAckTimeout: one that was asked for stays, even if it is the default of the old type.
func TestRetypeKeepsTheAckTimeout(t *testing.T) {
	e := newManagementEnd(t, loopnet.New(loopnet.Options{}))
	const code = 17 // the default of MP
	own := verbs.ConnOptions{AckTimeout: verbs.AckTimeoutOf(code)}
	for _, set := range []func(*verbs.QP) error{
		func(*verbs.QP) error { return nil },
		func(q *verbs.QP) error { return errors.Join(q.SetConn(verbs.ConnOptions{}), q.SetConn(own)) },
	} {
		q, err := e.pd.CreateQP(verbs.QPOptions{Type: verbs.MP, SendCQ: e.cq, Conn: own})
		must(t, err)
		peer, err := e.pd.CreateQP(verbs.QPOptions{Type: verbs.RC, SendCQ: e.cq})
		must(t, err)
		must(t, set(q))
		must(t, q.Retype(verbs.RC))
		must(t, q.Connect(peer.Params()))
		if got := q.Query().Attr.Timeout; got != code {
			t.Errorf("ACK timeout code %d, want %d", got, code)
		}
	}
}

// TestRetype: a queue pair that was made for several paths connects to one that
// has a single path, under the number and packet number that it had.
func TestRetype(t *testing.T) {
	n := loopnet.New(loopnet.Options{MTU: 8920})
	mtus := map[verbs.QPType]int{verbs.RC: 4096, verbs.MP: 8920}
	for _, test := range []struct{ from, to verbs.QPType }{{verbs.MP, verbs.RC}, {verbs.RC, verbs.MP}, {verbs.MP, verbs.MP}} {
		a, b := newManagementEnd(t, n), newManagementEnd(t, n)
		qa, err := a.pd.CreateQP(verbs.QPOptions{Type: test.from, SendCQ: a.cq})
		must(t, err)
		qb, err := b.pd.CreateQP(verbs.QPOptions{Type: test.to, SendCQ: b.cq})
		must(t, err)
		before := qa.Params()
		must(t, qa.Retype(test.to))
		after := qa.Params()
		if after.QPN != before.QPN || after.PSN != before.PSN || after.Type != test.to || qa.Type() != test.to {
			t.Errorf("%+v has become %+v", before, after)
		}
		if before.MTU != mtus[test.from] || after.MTU != mtus[test.to] {
			t.Errorf("path MTU %d of %v, %d of %v", before.MTU, test.from, after.MTU, test.to)
		}
		// As connection managers do: each end sends from the number that the other
		// has announced.
		must(t, qa.SetFirstPSN(0xfffffe))
		after = qa.Params()
		must(t, qb.Connect(after))
		must(t, qa.Connect(qb.Params()))
		if got, want := qa.Query().Attr.Timeout, qb.Query().Attr.Timeout; got != want {
			t.Errorf("ACK timeout code %d, want the default of %v, %d", got, test.to, want)
		}
		mr, err := b.pd.AllocMemory(64, verbs.LocalWrite|verbs.RemoteWrite)
		must(t, err)
		must(t, qa.PostSend(&verbs.SendWR{
			Op: verbs.OpWrite, Flags: verbs.Signaled, Inline: []byte("as another"), RemoteAddr: mr.Addr(), RKey: mr.RKey(),
		}))
		var c [1]verbs.Completion
		if _, err := a.cq.Wait(t.Context(), c[:]); err != nil || c[0].Err() != nil {
			t.Errorf("%v, %v", err, c[0].Err())
		}
		if err := qa.Retype(test.from); !errors.Is(err, verbs.ErrState) {
			t.Errorf("while connected: %v", err)
		}
		if err := qa.SetFirstPSN(1); !errors.Is(err, verbs.ErrState) {
			t.Errorf("while connected: %v", err)
		}
		if err := qa.SetFirstPSN(1 << 24); !errors.Is(err, verbs.ErrParams) {
			t.Errorf("25 bits: %v", err)
		}
		if err := a.qp.Retype(verbs.RC); !errors.Is(err, verbs.ErrParams) {
			t.Errorf("of datagrams: %v", err)
		}
	}
}

// TestRetypeInInit: receives that were posted are flushed when the type changes, and stay where it does not.
func TestRetypeInInit(t *testing.T) {
	e := newManagementEnd(t, loopnet.New(loopnet.Options{}))
	mr, err := e.pd.AllocMemory(64, verbs.LocalWrite)
	must(t, err)
	q, err := e.pd.CreateQP(verbs.QPOptions{Type: verbs.MP, SendCQ: e.cq, RecvDepth: 2})
	must(t, err)
	for _, kind := range []verbs.QPType{verbs.RC, verbs.MP} {
		must(t, q.Prepare())
		for id := range uint64(2) {
			must(t, q.PostRecv(&verbs.RecvWR{ID: id, SGEs: []verbs.SGE{mr.SGE(0, 64)}}))
		}
		must(t, q.SetConn(verbs.ConnOptions{}))
		must(t, q.Retype(q.Type()))
		if s := q.State(); s != verbs.Init {
			t.Errorf("the same type: %v", s)
		}
		must(t, q.Retype(kind))
		if s := q.State(); s != verbs.Reset || q.Type() != kind {
			t.Errorf("%v, %v", s, q.Type())
		}
		var done [3]verbs.Completion
		n, err := e.cq.Poll(done[:])
		must(t, err)
		if n != 2 || done[0].WRID != 0 || done[1].WRID != 1 || done[0].Status != transport.WRFlushErr || done[1].Status != transport.WRFlushErr {
			t.Errorf("flushed: %+v", done[:n])
		}
	}
}
