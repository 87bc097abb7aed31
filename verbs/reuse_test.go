package verbs_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/braid-rdma/braid/verbs"
)

// connectAnew gives both sides queue pairs that use the memory of the ones before.
func connectAnew(t *testing.T, p *pair, o verbs.QPOptions) {
	t.Helper()
	for _, s := range []*side{p.a, p.b} {
		o.SendCQ, o.Reuse = s.cq, s.qp
		must(t, s.qp.Close())
		for s.cq.Ready() {
			s.wait() // flushed
		}
		var err error
		s.qp, err = s.pd.CreateQP(o)
		must(t, err)
	}
	pa, pb := p.a.qp.Params(), p.b.qp.Params()
	must(t, p.a.qp.Connect(pb))
	must(t, p.b.qp.Connect(pa))
}

// A queue pair in the memory of another is a new one: its number, its counters and its queues,
// and what was posted to the old one belongs to nobody.
func TestReuse(t *testing.T) {
	for _, kind := range []verbs.QPType{verbs.RC, verbs.MP} {
		t.Run(kind.String(), func(t *testing.T) {
			p := newPair(t, verbs.QPOptions{Type: kind, RecvDepth: 16})
			numbers := map[verbs.QPN]bool{p.a.qp.Number(): true}
			for depth := 16; depth > 4; depth-- {
				old := p.a.qp
				for i := range 3 { // two of them wait when the connection ends
					must(t, p.b.qp.PostRecv(&verbs.RecvWR{ID: uint64(i), SGEs: p.b.sge(64*i, 64)}))
				}
				p.a.post(verbs.SendWR{Op: verbs.OpSend, Inline: []byte("of this connection")})
				if c := p.b.wait(); c.WRID != 0 || c.Err() != nil || c.QPN != p.b.qp.Number() {
					t.Fatalf("%+v", c)
				}
				p.a.wantDone(0, verbs.OpSend)
				before := old.Stats().PacketsSent
				connectAnew(t, p, verbs.QPOptions{Type: kind, RecvDepth: depth})
				if numbers[p.a.qp.Number()] {
					t.Errorf("the number %v was used before", p.a.qp.Number())
				}
				numbers[p.a.qp.Number()] = true
				if sent := p.a.qp.Stats().PacketsSent; sent != 0 {
					t.Errorf("a new queue pair has sent %d packets", sent)
				}
				if sent := old.Stats().PacketsSent; sent != before || old.State() != verbs.Err {
					t.Errorf("the old one has sent %d packets, %d before; %v", sent, before, old.State())
				}
				if err := old.PostSend(&verbs.SendWR{Op: verbs.OpSend}); !errors.Is(err, verbs.ErrClosed) {
					t.Errorf("the old one takes requests: %v", err)
				}
				if n := p.a.dev.Query().QPs; n != 1 {
					t.Errorf("%d queue pairs", n)
				}
				for i := range depth {
					must(t, p.b.qp.PostRecv(&verbs.RecvWR{ID: uint64(100 + i), SGEs: p.b.sge(1024, 64)}))
				}
				if err := p.b.qp.PostRecv(&verbs.RecvWR{SGEs: p.b.sge(1024, 64)}); !errors.Is(err, verbs.ErrQueueFull) {
					t.Errorf("a receive beyond %d: %v", depth, err)
				}
				want := bytes.Repeat([]byte{byte(depth)}, 40)
				p.a.post(verbs.SendWR{Op: verbs.OpSend, Inline: want})
				if c := p.b.wait(); c.WRID != 100 || c.Err() != nil {
					t.Fatalf("%+v", c)
				}
				if got := p.b.mr.Bytes()[1024:][:40]; !bytes.Equal(got, want) {
					t.Errorf("%q", got)
				}
				p.a.wantDone(0, verbs.OpSend)
				connectAnew(t, p, verbs.QPOptions{Type: kind, RecvDepth: 16})
			}
		})
	}
}

// What cannot be reused is not: one that is open, of another type, or taken already.
func TestReuseRefuses(t *testing.T) {
	p := newPair(t, verbs.QPOptions{Type: verbs.MP})
	options := verbs.QPOptions{Type: verbs.MP, SendCQ: p.a.cq, Reuse: p.a.qp}
	beside, err := p.a.pd.CreateQP(options)
	must(t, err)
	must(t, p.b.qp.PostRecv(&verbs.RecvWR{SGEs: p.b.sge(0, 64)}))
	p.a.post(verbs.SendWR{Op: verbs.OpSend, Inline: []byte("lives")})
	p.a.wantDone(0, verbs.OpSend)
	must(t, beside.Close())

	must(t, p.a.qp.Close())
	options.Type = verbs.RC
	other, err := p.a.pd.CreateQP(options)
	must(t, err)
	options.Type = verbs.MP
	first, err := p.a.pd.CreateQP(options)
	must(t, err)
	second, err := p.a.pd.CreateQP(options)
	must(t, err)
	for _, q := range []*verbs.QP{other, first, second} {
		if q.State() != verbs.Reset {
			t.Errorf("%v is in %v", q.Type(), q.State())
		}
	}
	must(t, first.Prepare())
	if second.State() != verbs.Reset {
		t.Error("two queue pairs share one state")
	}
}

// TestSetConn: wishes for a connection may change until there is one.
func TestSetConn(t *testing.T) {
	p := newPair(t, verbs.QPOptions{Type: verbs.RC})
	q, err := p.a.pd.CreateQP(verbs.QPOptions{Type: verbs.MP, SendCQ: p.a.cq})
	must(t, err)
	must(t, q.SetConn(verbs.ConnOptions{RetryCount: 2, MTU: 1024}))
	if o := q.Query().Options.Conn; o.RetryCount != 2 || o.MTU != 1024 || o.Reads != 16 {
		t.Errorf("%+v", o)
	}
	if err := q.SetConn(verbs.ConnOptions{MTU: 77}); !errors.Is(err, verbs.ErrAttr) {
		t.Errorf("an impossible MTU: %v", err)
	}
	if o := q.Query().Options.Conn; o.MTU != 1024 {
		t.Errorf("what is refused changes nothing, %+v", o)
	}
	if err := p.a.qp.SetConn(verbs.ConnOptions{}); !errors.Is(err, verbs.ErrState) {
		t.Errorf("while connected: %v", err)
	}
}
