package bundle

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/braid-rdma/braid/cm"
	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

// serveStandard is a program that knows nothing of bundles: it accepts whatever comes, and
// closes what has ended.
func (s *side) serveStandard() netip.AddrPort {
	s.t.Helper()
	l, err := s.manager.Listen(0)
	must(s.t, err)
	cq, err := s.dev.CreateCQ(64)
	must(s.t, err)
	go func() {
		for {
			c, err := l.Accept(s.t.Context(), cm.Options{PD: s.pd, QP: verbs.QPOptions{SendCQ: cq}})
			if err != nil {
				return
			}
			go func() {
				<-c.Done()
				c.Close()
			}()
		}
	}()
	return l.Addr()
}

// TestStandardPeer: Writes and Reads over several queue pairs to a peer that knows nothing
// of bundles, also when a path dies.
func TestStandardPeer(t *testing.T) {
	a, b, n := loopPair(t)
	cfg := a.config(3)
	cfg.Standard = true
	var err error
	a.conn, err = Dial(testContext(t), a.manager, b.serveStandard().String(), cfg)
	must(t, err)
	defer a.conn.Close()
	a.awaitUp(3)
	for round := range 8 {
		if round == 3 {
			n.SetFilter(func(_, _ netip.Addr, p *transport.Packet) bool { return p.Path != 1 })
		}
		data := a.fill(0, 1<<20, byte(round))
		must(t, a.conn.Write(testContext(t), a.buffer(0, 1<<20), b.at(0)))
		b.want(0, data)
		must(t, a.conn.Read(testContext(t), a.buffer(1<<20, 1<<20), b.at(0)))
		a.want(1<<20, data)
	}
	a.awaitUp(3)
	if a.conn.Stats().Repairs == 0 {
		t.Error("no queue pair was replaced: the cut was not noticed")
	}
	if err := a.conn.Send(testContext(t), a.buffer(0, 1)); !errors.Is(err, verbs.ErrOperation) {
		t.Errorf("a Send: got %v, want ErrOperation", err)
	}
	if _, err := Listen(a.manager, 0, cfg); !errors.Is(err, ErrConfig) {
		t.Errorf("Listen: got %v, want ErrConfig", err)
	}
}
