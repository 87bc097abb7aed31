package cm

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braid-rdma/braid/cm/machine"
	"github.com/braid-rdma/braid/cm/mad"
	"github.com/braid-rdma/braid/internal/loopnet"
	"github.com/braid-rdma/braid/verbs"
)

// TestNeverSendsRTU: peers that ask for connections and never complete them keep
// neither Accept nor honest clients waiting, and cost nothing in the end.
func TestNeverSendsRTU(t *testing.T) {
	bubble(t, func(t *testing.T, n *loopnet.Network, a, b *side) {
		l, err := b.m.Listen(0)
		must(t, err)
		s := newStandard(t, n, verbs.QPOptions{})
		const silent = 300
		for i := range verbs.QPN(silent) {
			req := s.request(l, "")
			req.QPN += i
			_, err := s.agent.Machine().Connect(s.agent.Now(), l.Addr().Addr(), req)
			must(t, err)
			s.agent.Flush()
		}
		synctest.Wait()
		begin := time.Now()
		accepted := b.accepting(l, b.options(verbs.MP, ""))
		ca, err := a.m.Dial(testContext(t), l.Addr().String(), a.options(verbs.MP, ""))
		must(t, err)
		got := <-accepted
		must(t, got.err)
		if took := time.Since(begin); took > time.Second || got.conn.RemoteAddr() != ca.LocalAddr() {
			t.Errorf("accepted %v after %v", got.conn.RemoteAddr(), took)
		}
		if half := b.halfOpen(); half != silent {
			t.Errorf("%d half open, want %d", half, silent)
		}
		must(t, ca.Close())
		must(t, got.conn.Close())
		time.Sleep(time.Minute) // of virtual time
		b.leaves()
	})
}

func (s *side) halfOpen() int {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	return s.m.agent.Machine().HalfOpen()
}

// TestAcceptInTheBackground: a connection that is not ready when Accept returns
// another is returned by the next, and one that nobody has accepted when the
// listener closes is closed with it.
func TestAcceptInTheBackground(t *testing.T) {
	bubble(t, func(t *testing.T, n *loopnet.Network, a, b *side) {
		l, err := b.m.Listen(0)
		must(t, err)
		s := newStandard(t, n, verbs.QPOptions{})
		core := s.agent.Machine()
		slow, err := core.Connect(s.agent.Now(), l.Addr().Addr(), s.request(l, ""))
		must(t, err)
		s.agent.Flush()
		accepted := b.accepting(l, b.options(verbs.MP, ""))
		s.next(machine.Replied)
		ca, err := a.m.Dial(testContext(t), l.Addr().String(), a.options(verbs.MP, ""))
		must(t, err)
		first := <-accepted
		must(t, first.err)

		must(t, core.Ready(s.agent.Now(), slow, false))
		s.agent.Flush()
		second := <-b.accepting(l, b.options(verbs.MP, ""))
		must(t, second.err)
		if second.conn.RemoteAddr().Addr() != s.qp.Params().Addr {
			t.Errorf("accepted %v", second.conn.RemoteAddr())
		}
		must(t, second.conn.Close())
		s.next(machine.Disconnected)

		// Two more, of which one Accept returns one.
		accepted = b.accepting(l, b.options(verbs.MP, ""))
		for i := range 2 {
			id, err := core.Connect(s.agent.Now(), l.Addr().Addr(), s.request(l, ""))
			must(t, err)
			s.agent.Flush()
			if i == 0 {
				s.next(machine.Replied)
				must(t, core.Ready(s.agent.Now(), id, false))
				s.agent.Flush()
				must(t, (<-accepted).err)
			}
		}
		synctest.Wait()
		must(t, l.Close())
		if e := s.next(machine.Rejected); e.REJ.Reason != mad.ReasonInvalidService {
			t.Errorf("refused with %v", e.REJ.Reason)
		}
		must(t, first.conn.Close())
		wantEnd(t, ca, ErrPeerClosed)
	})
}

// TestStepIsBounded: a flood on queue pair 1 is taken in steps.
func TestStepIsBounded(t *testing.T) {
	bubble(t, func(t *testing.T, n *loopnet.Network, _, _ *side) {
		flood, target := newStandard(t, n, verbs.QPOptions{}), newStandard(t, n, verbs.QPOptions{})
		to := target.qp.Params().Addr
		const datagrams = 3*stepDatagrams + 7
		for range datagrams {
			flood.agent.send(to, make([]byte, mad.Len))
			flood.agent.postSends()
			synctest.Wait()
		}
		for left := uint64(datagrams); left > 0; {
			before := target.agent.Machine().Counters().Received
			again, err := target.agent.Step()
			must(t, err)
			taken := target.agent.Machine().Counters().Received - before
			if taken == 0 || taken > stepDatagrams {
				t.Fatalf("%d datagrams in one step, of %d", taken, left)
			}
			if left -= taken; (again <= target.agent.Now()) != (left > 0) {
				t.Errorf("%d datagrams are left, and the next step is due in %d ns", left, again-target.agent.Now())
			}
		}
	})
}

// TestSpoofedREQ: a request that anybody can have sent does not end the
// connection whose queue pair it names.
func TestSpoofedREQ(t *testing.T) {
	bubble(t, func(t *testing.T, n *loopnet.Network, a, b *side) {
		l, err := b.m.Listen(0)
		must(t, err)
		accepted := b.accepting(l, b.options(verbs.MP, ""))
		ca, err := a.m.Dial(testContext(t), l.Addr().String(), a.options(verbs.MP, ""))
		must(t, err)
		cb := (<-accepted).conn
		for _, kind := range []*terms{nil, {retry: true}} {
			req := mad.REQ{LocalID: 7, Service: mad.PortService(l.Addr().Port()), QPN: ca.QP().Number()}
			mad.IPHeader{Src: a.dev.Query().Local, Dst: l.Addr().Addr()}.Append(req.PrivateData[:0])
			must(t, pack(req.PrivateData[mad.IPHeaderLen:], nil, kind))
			b.inject(a.dev.Query().Local, &req)
		}
		synctest.Wait()
		a.write(ca, b)
		b.write(cb, a)
		if ca.Err() != nil || cb.Err() != nil {
			t.Errorf("ended with %v, %v", ca.Err(), cb.Err())
		}
	})
}

// inject gives the manager a message as if it had come from an address.
func (s *side) inject(from netip.Addr, m mad.Message) {
	must(s.t, s.m.command(func(core *machine.Machine, now machine.Time) error {
		core.Handle(now, from, mad.Append(nil, m, 1))
		return nil
	}))
}
