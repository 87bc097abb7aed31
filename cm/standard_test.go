package cm

import (
	"bytes"
	"errors"
	"net/netip"
	"testing"
	"testing/synctest"

	"github.com/braid-rdma/braid/cm/machine"
	"github.com/braid-rdma/braid/cm/mad"
	"github.com/braid-rdma/braid/internal/loopnet"
	"github.com/braid-rdma/braid/verbs"
)

// standard is a peer that knows nothing of braid: the test plays its manager on
// an agent of its own, and its queue pair is RC.
type standard struct {
	t     *testing.T
	agent *Agent
	dev   *verbs.Device
	cq    *verbs.CQ
	qp    *verbs.QP
}

func newStandard(t *testing.T, n *loopnet.Network, o verbs.QPOptions) *standard {
	t.Helper()
	s := &standard{t: t, dev: n.Open()}
	var err error
	s.agent, err = NewAgent(s.dev, machine.Config{})
	must(t, err)
	pd, err := s.dev.CreatePD()
	must(t, err)
	s.cq, err = s.dev.CreateCQ(64)
	must(t, err)
	o.Type, o.SendCQ = verbs.RC, s.cq
	s.qp, err = pd.CreateQP(o)
	must(t, err)
	t.Cleanup(func() { s.agent.Close(); s.dev.Close() })
	return s
}

// next runs the agent until something happens.
func (s *standard) next(want machine.EventKind) machine.Event {
	s.t.Helper()
	for range 100 {
		if _, err := s.agent.Step(); err != nil {
			s.t.Fatal(err)
		}
		if e, ok := s.agent.Machine().PollEvent(); ok {
			if e.Kind != want {
				s.t.Fatalf("%v happened, want %v", e.Kind, want)
			}
			return e
		}
		synctest.Wait()
	}
	s.t.Fatal("nothing happens")
	return machine.Event{}
}

// connect makes the queue pair ready as the specification has it: it sends from
// the packet number that the peer's message announced, and the peer sends from
// the one that ours did.
func (s *standard) connect(to netip.Addr, qpn verbs.QPN, psn verbs.PSN, mtu int) {
	s.t.Helper()
	announced := s.qp.Params().PSN
	must(s.t, s.qp.SetFirstPSN(psn))
	must(s.t, s.qp.Connect(verbs.ConnParams{
		Type: verbs.RC, Addr: to, QPN: qpn, PSN: announced, MTU: mtu, Paths: 1, ReadsServed: 16,
	}))
}

// request is a REQ as the RDMA CM of Linux fills it in.
func (s *standard) request(to *Listener, data string) mad.REQ {
	p := s.qp.Params()
	req := mad.REQ{
		Service: mad.PortService(to.Addr().Port()), QPN: p.QPN, PSN: p.PSN,
		ResponderResources: 128, InitiatorDepth: 128, Retry: 7, RNRRetry: 7, PKey: 0xffff,
		MTU: mad.MTUOf(p.MTU), Primary: mad.Route{HopLimit: 64, AckTimeout: 18},
	}
	mad.IPHeader{SrcPort: 40000, Src: p.Addr, Dst: to.Addr().Addr()}.Append(req.PrivateData[:0])
	copy(req.PrivateData[mad.IPHeaderLen:], data)
	return req
}

// TestStandardClient: a peer without terms gets an RC queue pair, and its
// private data reaches the program whole.
func TestStandardClient(t *testing.T) {
	bubble(t, func(t *testing.T, n *loopnet.Network, _, b *side) {
		l, err := b.m.Listen(0)
		must(t, err)
		s := newStandard(t, n, verbs.QPOptions{})
		data := string(bytes.Repeat([]byte("x"), 56))
		accepted := b.accepting(l, b.options(verbs.MP, "welcome"))
		id, err := s.agent.Machine().Connect(s.agent.Now(), l.Addr().Addr(), s.request(l, data))
		must(t, err)
		rep := s.next(machine.Replied).REP
		if string(rep.PrivateData[:7]) != "welcome" || !bytes.Equal(rep.PrivateData[7:], make([]byte, 189)) {
			t.Errorf("a standard peer is told %q", rep.PrivateData)
		}
		if rep.ResponderResources != 16 || rep.InitiatorDepth != 16 {
			t.Errorf("%+v", rep)
		}
		s.connect(l.Addr().Addr(), rep.QPN, rep.PSN, s.qp.Params().MTU)
		must(t, s.agent.Machine().Ready(s.agent.Now(), id, false))
		s.agent.Flush()
		got := <-accepted
		must(t, got.err)
		if got.conn.QP().Type() != verbs.RC || string(got.conn.PrivateData()) != data {
			t.Errorf("%v, %q", got.conn.QP().Type(), got.conn.PrivateData())
		}
		must(t, s.qp.PostSend(&verbs.SendWR{
			Op: verbs.OpWrite, Flags: verbs.Signaled, Inline: []byte("standard"), RemoteAddr: b.mr.Addr(), RKey: b.mr.RKey(),
		}))
		var done [1]verbs.Completion
		if _, err := s.cq.Wait(testContext(t), done[:]); err != nil || done[0].Err() != nil {
			t.Errorf("%v, %v", err, done[0].Err())
		}
		must(t, s.agent.Machine().Disconnect(s.agent.Now(), id))
		s.agent.Flush()
		wantEnd(t, got.conn, ErrPeerClosed)
		s.next(machine.Closed)
	})
}

// TestStandardServer: a peer that answers without terms makes an RC queue pair
// of a multi-path one, under the number that the request named.
func TestStandardServer(t *testing.T) {
	bubble(t, func(t *testing.T, n *loopnet.Network, a, _ *side) {
		s := newStandard(t, n, verbs.QPOptions{})
		must(t, s.agent.Machine().Listen(mad.PortService(7174), 10))
		dialed := make(chan outcome, 1)
		address := s.qp.Params().Addr.String() + ":7174"
		go func() {
			c, err := a.m.Dial(testContext(t), address, a.options(verbs.MP, "hello"))
			dialed <- outcome{c, err}
		}()
		e := s.next(machine.Requested)
		header, room, err := mad.ParseIPHeader(e.REQ.PrivateData[:])
		if err != nil || header.Src != a.dev.Query().Local || header.Dst != s.qp.Params().Addr || string(room[:5]) != "hello" || room[5] != 0 {
			t.Errorf("%+v %q %v", header, room, err)
		}
		p := s.qp.Params()
		s.connect(e.Peer, e.REQ.QPN, e.REQ.PSN, e.REQ.MTU.Bytes())
		must(t, s.agent.Machine().Accept(s.agent.Now(), e.ID, mad.REP{QPN: p.QPN, PSN: p.PSN, ResponderResources: 255}, false))
		s.agent.Flush()
		got := <-dialed
		must(t, got.err)
		s.next(machine.Established)
		q := got.conn.QP()
		if q.Type() != verbs.RC || q.Number() != e.REQ.QPN || len(got.conn.PrivateData()) != mad.REPPrivateLen {
			t.Errorf("%v %v, %d bytes", q.Type(), q.Number(), len(got.conn.PrivateData()))
		}
		mr, err := s.qp.PD().AllocMemory(64, verbs.LocalWrite|verbs.RemoteWrite)
		must(t, err)
		must(t, q.PostSend(&verbs.SendWR{
			Op: verbs.OpWrite, Flags: verbs.Signaled, Inline: []byte("standard"), RemoteAddr: mr.Addr(), RKey: mr.RKey(),
		}))
		var done [1]verbs.Completion
		if _, err := a.cq.Wait(testContext(t), done[:]); err != nil || done[0].Err() != nil {
			t.Errorf("%v, %v", err, done[0].Err())
		}
		must(t, got.conn.Close())
	})
}

// TestStandardClientRefused: what cannot be granted is refused by its reason.
func TestStandardClientRefused(t *testing.T) {
	bubble(t, func(t *testing.T, n *loopnet.Network, _, b *side) {
		l, err := b.m.Listen(0)
		must(t, err)
		for _, test := range []struct {
			name   string
			change func(*mad.REQ)
			want   mad.Reason
		}{
			{"path MTU", func(r *mad.REQ) { r.MTU = 5 }, mad.ReasonInvalidMTU},
			{"no path MTU", func(r *mad.REQ) { r.MTU = 0 }, mad.ReasonInvalidMTU},
			{"queue pair 0", func(r *mad.REQ) { r.QPN = 0 }, mad.ReasonUnsupported},
			{"no addresses", func(r *mad.REQ) { r.PrivateData[1] = 0 }, mad.ReasonUnsupported},
		} {
			s := newStandard(t, n, verbs.QPOptions{})
			o := b.options(verbs.MP, "")
			o.QP.Conn.MTU = 1024
			r := s.request(l, "")
			r.MTU = mad.MTUOf(1024)
			test.change(&r)
			refused := make(chan error, 1)
			go func() {
				if r, err := l.Next(t.Context()); err == nil {
					_, err = r.Accept(t.Context(), o)
					refused <- err
				}
			}()
			_, err := s.agent.Machine().Connect(s.agent.Now(), l.Addr().Addr(), r)
			must(t, err)
			if e := s.next(machine.Rejected); e.REJ.Reason != test.want {
				t.Errorf("%s: %v, want %v", test.name, e.REJ.Reason, test.want)
			}
			if test.name != "no addresses" {
				if err := <-refused; !errors.Is(err, errPeer) {
					t.Errorf("%s: %v", test.name, err)
				}
			}
		}
		must(t, l.Close())
		b.leaves()
	})
}
