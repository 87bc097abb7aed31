package bundle

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/braid-rdma/braid/cm"
	"github.com/braid-rdma/braid/internal/loopnet"
	"github.com/braid-rdma/braid/udp"
	"github.com/braid-rdma/braid/verbs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// side is a device, its manager and memory that peers may read and write.
type side struct {
	t       testing.TB
	dev     *verbs.Device
	manager *cm.Manager
	pd      *verbs.PD
	mr      *verbs.MR
	conn    *Conn
}

const sideMemory = 4 << 20

func newSide(t testing.TB, dev *verbs.Device) *side {
	t.Helper()
	s := &side{t: t, dev: dev}
	var err error
	s.pd, err = dev.CreatePD()
	must(t, err)
	s.mr, err = s.pd.AllocMemory(sideMemory, verbs.LocalWrite|verbs.RemoteWrite|verbs.RemoteRead)
	must(t, err)
	s.manager, err = cm.New(dev, cm.Config{})
	must(t, err)
	t.Cleanup(func() {
		must(t, s.manager.Close())
		must(t, dev.Close())
	})
	return s
}

// config has short timeouts, so that a cut path is soon noticed.
func (s *side) config(n int) Config {
	return Config{PD: s.pd, QueuePairs: n, QP: verbs.QPOptions{
		Conn: verbs.ConnOptions{AckTimeout: 8 * time.Millisecond, RetryCount: 3},
	}}
}

// pair connects two sides.
func pair(t testing.TB, a, b *side, n int, change func(*Config)) {
	t.Helper()
	ca, cb := a.config(n), b.config(n)
	if change != nil {
		change(&ca)
		change(&cb)
	}
	l, err := Listen(b.manager, 0, cb)
	must(t, err)
	dialTo(t, a, b, l, ca)
	must(t, l.Close())
	a.awaitUp(n)
	b.awaitUp(n)
	t.Cleanup(func() {
		a.conn.Close()
		b.conn.Close()
		a.leavesNothing()
		b.leavesNothing()
	})
}

// connect connects a side to a listener of another.
func connect(t testing.TB, a, b *side, l *Listener) {
	t.Helper()
	dialTo(t, a, b, l, a.config(2))
	t.Cleanup(func() { b.conn.Close() })
}

func dialTo(t testing.TB, a, b *side, l *Listener, cfg Config) {
	t.Helper()
	var err error
	a.conn, err = Dial(testContext(t), a.manager, l.Addr().String(), cfg)
	must(t, err)
	b.conn, err = l.Accept(testContext(t))
	must(t, err)
}

// awaitUp waits until n queue pairs are up.
func (s *side) awaitUp(n int) {
	s.t.Helper()
	ctx := testContext(s.t)
	for {
		news := s.conn.news.Next()
		if s.conn.Stats().Up == n {
			return
		}
		select {
		case <-news:
		case <-s.conn.Done():
			s.t.Fatal(s.conn.Err())
		case <-ctx.Done():
			s.t.Fatalf("%+v, want %d up", s.conn.Stats(), n)
		}
	}
}

// leavesNothing expects that no queue pair, region or completion queue is left but those
// of the test and of the manager.
func (s *side) leavesNothing() {
	s.t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for {
		q := s.dev.Query()
		if q.QPs <= 1 && q.RegisteredBytes < 2*sideMemory && q.MRs <= 3 && q.CQs <= 2 {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("left: %d queue pairs, %d regions, %d completion queues", q.QPs, q.MRs, q.CQs)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func loopPair(t testing.TB) (a, b *side, n *loopnet.Network) {
	n = loopnet.New(loopnet.Options{Paths: 4})
	return newSide(t, n.Open()), newSide(t, n.Open()), n
}

func socketPair(t testing.TB) (a, b *side) {
	open := func() *side {
		dev, err := udp.Open(udp.Config{Loopback: true, Paths: 4})
		must(t, err)
		return newSide(t, dev)
	}
	return open(), open()
}

func (s *side) buffer(offset, length int) Buffer { return Buffer{s.mr, offset, length} }

func (s *side) at(offset int) Remote {
	return Remote{Addr: s.mr.Addr() + uint64(offset), RKey: s.mr.RKey()}
}

// fill puts a pattern of a seed into memory and returns it.
func (s *side) fill(offset, length int, seed byte) []byte {
	b := make([]byte, length)
	for i := range b {
		b[i] = byte(i*7>>3) ^ byte(i) ^ seed
	}
	must(s.t, s.mr.Store(offset, b))
	return b
}

func (s *side) want(offset int, want []byte) {
	s.t.Helper()
	got := make([]byte, len(want))
	must(s.t, s.mr.Load(offset, got))
	for i := range want {
		if got[i] != want[i] {
			s.t.Fatalf("byte %d of %d is %#x, want %#x", i, len(want), got[i], want[i])
		}
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
