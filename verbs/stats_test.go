package verbs_test

import (
	"net/netip"
	"testing"

	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

// wantBlocked expects the statistics to say why nothing is sent.
func (s *side) wantBlocked(why, reason string) {
	s.t.Helper()
	stats := s.qp.Stats()
	if got := stats.Blocked.String(); got != reason {
		s.t.Errorf("%s: nothing is sent because of %q, want %q", why, got, reason)
	}
}

// Statistics say in words why nothing is sent.
func TestStatsSayWhatIsWaitedFor(t *testing.T) {
	for _, kind := range []verbs.QPType{verbs.RC, verbs.MP} {
		t.Run(kind.String(), func(t *testing.T) {
			p := newPair(t, verbs.QPOptions{Type: kind, Conn: verbs.ConnOptions{AckTimeout: verbs.None, Reads: 2}})
			p.a.wantBlocked("nothing was posted", "no-work")

			// No response arrives, so a READ stays outstanding.
			p.net.SetFilter(func(netip.Addr, netip.Addr, *transport.Packet) bool { return false })
			remote := verbs.SendWR{Op: verbs.OpRead, SGEs: p.a.sge(0, 8), RemoteAddr: p.b.mr.Addr(), RKey: p.b.mr.RKey()}
			fenced := remote
			fenced.Op, fenced.Flags = verbs.OpWrite, verbs.Fence
			p.a.post(remote)
			p.a.wantBlocked("a READ was sent", "no-work")
			p.a.post(fenced)
			p.a.wantBlocked("a fenced WRITE follows a READ", "fence")

			must(t, p.a.qp.Modify(verbs.Err, nil))
			p.a.wantBlocked("the queue pair failed", "closed")
			must(t, p.a.qp.Modify(verbs.Reset, nil))
			p.a.wantBlocked("the queue pair is not connected", "state")

			for range 3 {
				p.b.post(verbs.SendWR{Op: verbs.OpRead, SGEs: p.b.sge(0, 8), RemoteAddr: p.a.mr.Addr(), RKey: p.a.mr.RKey()})
			}
			p.b.wantBlocked("three READs, of which two may be outstanding", "initiator-depth")
		})
	}
}

func TestStatsOfDatagrams(t *testing.T) {
	p := newPair(t, verbs.QPOptions{Type: verbs.UD})
	p.a.wantBlocked("nothing was posted", "no-work")
	must(t, p.a.qp.Modify(verbs.SQD, nil))
	p.a.wantBlocked("no datagram is sent", "state")
	must(t, p.a.qp.Modify(verbs.Err, nil))
	p.a.wantBlocked("the queue pair failed", "closed")
}
