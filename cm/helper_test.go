package cm

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/braid-rdma/braid/verbs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// side is a device with a manager, and what a program needs for queue pairs.
type side struct {
	t   testing.TB
	dev *verbs.Device
	m   *Manager
	pd  *verbs.PD
	cq  *verbs.CQ
	mr  *verbs.MR

	keepalive time.Duration // of the queue pairs
}

func newSide(t testing.TB, dev *verbs.Device) *side {
	t.Helper()
	return newSideOf(t, dev, Config{})
}

func newSideOf(t testing.TB, dev *verbs.Device, cfg Config) *side {
	t.Helper()
	s := &side{t: t, dev: dev}
	var err error
	s.pd, err = dev.CreatePD()
	must(t, err)
	s.cq, err = dev.CreateCQ(1 << 16)
	must(t, err)
	s.mr, err = s.pd.AllocMemory(4096, verbs.LocalWrite|verbs.RemoteWrite)
	must(t, err)
	s.m, err = New(dev, cfg)
	must(t, err)
	t.Cleanup(func() {
		must(t, s.m.Close())
		must(t, dev.Close())
	})
	return s
}

// options ask for a small queue pair of a kind.
func (s *side) options(kind verbs.QPType, data string) Options {
	return Options{
		PD: s.pd, PrivateData: []byte(data),
		QP: verbs.QPOptions{
			Type: kind, SendCQ: s.cq, SendDepth: 8, RecvDepth: 8,
			Conn: verbs.ConnOptions{Keepalive: s.keepalive},
		},
	}
}

// accepting grants one request in the background.
func (s *side) accepting(l *Listener, o Options) <-chan outcome {
	result := make(chan outcome, 1)
	ctx := testContext(s.t)
	go func() {
		c, err := l.Accept(ctx, o)
		result <- outcome{c, err}
	}()
	return result
}

type outcome struct {
	conn *Conn
	err  error
}

// connected is a connection between two sides, of which each asked for a kind
// of queue pair.
func connected(t testing.TB, a, b *side, ka, kb verbs.QPType) (ca, cb *Conn) {
	t.Helper()
	l, err := b.m.Listen(0)
	must(t, err)
	defer l.Close()
	accepted := b.accepting(l, b.options(kb, "from b"))
	ca, err = a.m.Dial(testContext(t), l.Addr().String(), a.options(ka, "from a"))
	must(t, err)
	got := <-accepted
	must(t, got.err)
	return ca, got.conn
}

// write shows that a connection works: bytes of a arrive at b.
func (s *side) write(c *Conn, to *side) {
	s.t.Helper()
	must(s.t, c.QP().PostSend(&verbs.SendWR{
		Op: verbs.OpWrite, Flags: verbs.Signaled, Inline: []byte("over the connection"),
		RemoteAddr: to.mr.Addr(), RKey: to.mr.RKey(),
	}))
	var done [1]verbs.Completion
	if _, err := s.cq.Wait(testContext(s.t), done[:]); err != nil {
		s.t.Fatal(err)
	}
	must(s.t, done[0].Err())
	text := make([]byte, 19)
	must(s.t, to.mr.Load(0, text))
	if string(text) != "over the connection" {
		s.t.Errorf("%q", text)
	}
}

// wantEnd expects a connection to have ended, soon, for a reason.
func wantEnd(t testing.TB, c *Conn, reason error) {
	t.Helper()
	select {
	case <-c.Done():
	case <-time.After(2 * time.Minute):
		t.Fatal("the connection lives")
	}
	if !errors.Is(c.Err(), reason) {
		t.Errorf("ended with %v, want %v", c.Err(), reason)
	}
}

// leaves expects that nothing is left of any connection, at the latest when
// time wait is over.
func (s *side) leaves() {
	s.t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for {
		s.m.mu.Lock()
		known, conns, half := len(s.m.conns), s.m.agent.Machine().Len(), s.m.agent.Machine().HalfOpen()
		s.m.mu.Unlock()
		qps := s.dev.Query().QPs - 1 // that of the manager
		if known+conns+half+qps == 0 {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("%d connections, %d in the machine, %d half open, %d queue pairs are left", known, conns, half, qps)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func testContext(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
