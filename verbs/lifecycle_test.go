package verbs_test

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

// cut drops every packet from now on, so that requests stay outstanding.
func (p *pair) cut() {
	p.net.SetFilter(func(netip.Addr, netip.Addr, *transport.Packet) bool { return false })
}

func TestCloseFlushesOnce(t *testing.T) {
	connected(t, func(t *testing.T, p *pair) {
		p.cut()
		p.a.post(verbs.SendWR{ID: 1, Op: verbs.OpRead, SGEs: p.a.sge(0, 60000), RemoteAddr: p.b.mr.Addr(), RKey: p.b.mr.RKey()})
		unsignalled := p.write(2)
		unsignalled.Flags = 0
		must(t, p.a.qp.PostSend(&unsignalled))
		must(t, p.a.qp.PostRecv(&verbs.RecvWR{ID: 3, SGEs: p.a.sge(0, 8)}))
		must(t, p.a.qp.Close())
		for id := range uint64(3) {
			p.a.wantFailed(id+1, transport.WRFlushErr)
		}
		must(t, p.a.qp.Close())
		p.a.wantIdle()
		if err := p.a.qp.PostSend(&verbs.SendWR{}); !errors.Is(err, verbs.ErrClosed) {
			t.Fatalf("post after close: %v", err)
		}
		if err := p.a.qp.Modify(verbs.Init, nil); !errors.Is(err, verbs.ErrClosed) {
			t.Fatalf("modify after close: %v", err)
		}
	})
}

func TestErrorStateFlushesThenClosesSilently(t *testing.T) {
	p := newPair(t, verbs.QPOptions{Type: verbs.RC})
	p.cut()
	wr := p.write(1)
	must(t, p.a.qp.PostSend(&wr))
	must(t, p.a.qp.Modify(verbs.Err, nil))
	p.a.wantFailed(1, transport.WRFlushErr)
	wr = p.write(2)
	must(t, p.a.qp.PostSend(&wr))
	p.a.wantFailed(2, transport.WRFlushErr)
	must(t, p.a.qp.Close())
	p.a.wantIdle()
}

func TestClosingClosesDependents(t *testing.T) {
	objects := func(s *side) [5]int {
		q := s.dev.Query()
		return [5]int{q.PDs, q.CQs, q.SRQs, q.QPs, q.MRs}
	}
	for _, c := range []struct {
		name  string
		close func(s *side, srq *verbs.SRQ) error
		want  [5]int
	}{
		{"completion queue", func(s *side, _ *verbs.SRQ) error { return s.cq.Close() }, [5]int{1, 0, 1, 0, 1}},
		{"shared receive queue", func(_ *side, srq *verbs.SRQ) error { return srq.Close() }, [5]int{1, 1, 0, 1, 1}},
		{"protection domain", func(s *side, _ *verbs.SRQ) error { return s.pd.Close() }, [5]int{0, 1, 0, 0, 0}},
		{"device", func(s *side, _ *verbs.SRQ) error { return s.dev.Close() }, [5]int{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newPair(t, verbs.QPOptions{Type: verbs.RC}).a
			srq, err := s.pd.CreateSRQ(8, 1)
			must(t, err)
			_, err = s.pd.CreateQP(verbs.QPOptions{SendCQ: s.cq, SRQ: srq})
			must(t, err)
			for range 2 {
				must(t, c.close(s, srq))
				if got := objects(s); got != c.want {
					t.Fatalf("PDs, CQs, SRQs, QPs, MRs: %v, want %v", got, c.want)
				}
			}
		})
	}
}

func TestClosedDeviceRefuses(t *testing.T) {
	s := newPair(t, verbs.QPOptions{Type: verbs.RC}).a
	must(t, s.dev.Close())
	calls := map[string]func() error{
		"CreatePD":       func() error { _, err := s.dev.CreatePD(); return err },
		"CreateCQ":       func() error { _, err := s.dev.CreateCQ(1); return err },
		"CreateQP":       func() error { _, err := s.pd.CreateQP(verbs.QPOptions{SendCQ: s.cq}); return err },
		"CreateSRQ":      func() error { _, err := s.pd.CreateSRQ(1, 1); return err },
		"RegisterMemory": func() error { _, err := s.pd.RegisterMemory(make([]byte, 1), 0); return err },
		"Rekey":          func() error { _, err := s.mr.Rekey(); return err },
		"PostRecv":       func() error { return s.qp.PostRecv(&verbs.RecvWR{}) },
		"Poll":           func() error { _, err := s.cq.Poll(make([]verbs.Completion, 1)); return err },
	}
	for name, call := range calls {
		if err := call(); !errors.Is(err, verbs.ErrClosed) {
			t.Errorf("%s answered %v", name, err)
		}
	}
	for range s.dev.Events() { // closed, so the loop ends
	}
}

func TestConnectRefusesBadParameters(t *testing.T) {
	p := newPair(t, verbs.QPOptions{Type: verbs.MP})
	good := p.b.qp.Params()
	for name, spoil := range map[string]func(*verbs.ConnParams){
		"type":        func(c *verbs.ConnParams) { c.Type = verbs.RC },
		"no type":     func(c *verbs.ConnParams) { c.Type = 9 },
		"no address":  func(c *verbs.ConnParams) { c.Addr = netip.Addr{} },
		"multicast":   func(c *verbs.ConnParams) { c.Addr = netip.MustParseAddr("224.0.0.1") },
		"number":      func(c *verbs.ConnParams) { c.QPN = 1 << 24 },
		"management":  func(c *verbs.ConnParams) { c.QPN = 1 },
		"packet":      func(c *verbs.ConnParams) { c.PSN = 1 << 24 },
		"MTU":         func(c *verbs.ConnParams) { c.MTU = 1502 },
		"no paths":    func(c *verbs.ConnParams) { c.Paths = 0 },
		"many paths":  func(c *verbs.ConnParams) { c.Paths = 257 },
		"slots":       func(c *verbs.ConnParams) { c.TrackedSlots = 100 },
		"window":      func(c *verbs.ConnParams) { c.Window = -1 },
		"reads":       func(c *verbs.ConnParams) { c.ReadsServed = 17 },
		"unroutable":  func(c *verbs.ConnParams) { c.Addr = netip.MustParseAddr("fe80::1") },
		"unspecified": func(c *verbs.ConnParams) { c.Addr = netip.IPv4Unspecified() },
	} {
		qp, err := p.a.pd.CreateQP(verbs.QPOptions{Type: verbs.MP, SendCQ: p.a.cq})
		must(t, err)
		bad := good
		spoil(&bad)
		if err := qp.Connect(bad); err == nil {
			t.Errorf("%s: accepted", name)
		}
		if qp.State() != verbs.Reset {
			t.Errorf("%s: state %v after a refused Connect", name, qp.State())
		}
		must(t, qp.Connect(good))
		if err := qp.Connect(good); !errors.Is(err, verbs.ErrState) {
			t.Errorf("second Connect: %v", err)
		}
		must(t, qp.Close())
	}
}

func TestConnectAgrees(t *testing.T) {
	p := newPair(t, verbs.QPOptions{Type: verbs.MP})
	a, err := p.a.pd.CreateQP(verbs.QPOptions{Type: verbs.MP, SendCQ: p.a.cq, Conn: verbs.ConnOptions{MTU: 1024, Paths: 3, Reads: 4, RetryCount: verbs.None}})
	must(t, err)
	b, err := p.b.pd.CreateQP(verbs.QPOptions{Type: verbs.MP, SendCQ: p.b.cq, Conn: verbs.ConnOptions{ReadsServed: 2, Paths: 2}})
	must(t, err)
	pa, pb := a.Params(), b.Params()
	must(t, a.Connect(pb))
	must(t, b.Connect(pa))
	qa, qb := a.Query(), b.Query()
	if qa.Attr.MTU != 1024 || qb.Attr.MTU != 1024 || qa.Attr.Paths != 2 || qb.Attr.Paths != 2 {
		t.Errorf("MTU %d and %d, paths %d and %d", qa.Attr.MTU, qb.Attr.MTU, qa.Attr.Paths, qb.Attr.Paths)
	}
	if qa.Attr.Reads != 2 || qa.Attr.RetryCount != 0 || qb.Attr.RetryCount != 7 {
		t.Errorf("reads %d, retries %d and %d", qa.Attr.Reads, qa.Attr.RetryCount, qb.Attr.RetryCount)
	}
	if qa.Attr.SendPSN != qb.Attr.RecvPSN || qb.Attr.SendPSN != qa.Attr.RecvPSN || qa.Attr.Remote != p.b.dev.Query().Local {
		t.Errorf("attributes do not meet: %+v, %+v", qa.Attr, qb.Attr)
	}
}

func TestCreateQPRefuses(t *testing.T) {
	p := newPair(t, verbs.QPOptions{Type: verbs.RC})
	for name, c := range map[string]struct {
		options verbs.QPOptions
		want    error
	}{
		"no queue":      {verbs.QPOptions{}, verbs.ErrAttr},
		"foreign queue": {verbs.QPOptions{SendCQ: p.b.cq}, verbs.ErrForeign},
		"type":          {verbs.QPOptions{SendCQ: p.a.cq, Type: 7}, verbs.ErrAttr},
		"depth":         {verbs.QPOptions{SendCQ: p.a.cq, SendDepth: transport.MaxQueueDepth + 1}, verbs.ErrAttr},
		"inline":        {verbs.QPOptions{SendCQ: p.a.cq, MaxInline: transport.MaxInline + 1}, verbs.ErrAttr},
		"MTU":           {verbs.QPOptions{SendCQ: p.a.cq, Conn: verbs.ConnOptions{MTU: 8192}}, verbs.ErrAttr},
		"MTU of MP":     {verbs.QPOptions{SendCQ: p.a.cq, Conn: verbs.ConnOptions{MTU: 1420}}, verbs.ErrAttr},
		"odd MTU":       {verbs.QPOptions{SendCQ: p.a.cq, Type: verbs.MP, Conn: verbs.ConnOptions{MTU: 1422}}, verbs.ErrAttr},
		"paths":         {verbs.QPOptions{SendCQ: p.a.cq, Type: verbs.MP, Conn: verbs.ConnOptions{Paths: 5}}, verbs.ErrAttr},
		"retries":       {verbs.QPOptions{SendCQ: p.a.cq, Conn: verbs.ConnOptions{RetryCount: 8}}, verbs.ErrAttr},
		"timer":         {verbs.QPOptions{SendCQ: p.a.cq, Conn: verbs.ConnOptions{AckTimeout: 3 * time.Hour}}, verbs.ErrAttr},
		"reads":         {verbs.QPOptions{SendCQ: p.a.cq, Conn: verbs.ConnOptions{Reads: 17}}, verbs.ErrAttr},
	} {
		if _, err := p.a.pd.CreateQP(c.options); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	if n := p.a.dev.Query().QPs; n != 1 {
		t.Errorf("%d queue pairs after refused creations, want 1", n)
	}
}

// TestRefusedModifyChangesNothing asks a connected queue pair to become ready to
// receive from another peer. That fails, and the connection works on.
func TestRefusedModifyChangesNothing(t *testing.T) {
	connected(t, func(t *testing.T, p *pair) {
		attr := p.a.qp.Query().Attr
		elsewhere := attr
		elsewhere.Remote = p.a.dev.Query().Local
		if err := p.a.qp.Modify(verbs.RTR, &elsewhere); !errors.Is(err, verbs.ErrState) {
			t.Fatalf("RTS to RTR: %v, want ErrState", err)
		}
		if got := p.a.qp.Query().Attr; got != attr {
			t.Errorf("the attributes are %+v, were %+v", got, attr)
		}
		p.a.post(p.write(1))
		if c := p.a.wait(); c.Err() != nil || c.WRID != 1 {
			t.Errorf("a write afterwards: %+v", c)
		}
	})
}
