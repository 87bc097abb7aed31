package oob

import (
	"context"
	"net"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/braid-rdma/braid/internal/loopnet"
	"github.com/braid-rdma/braid/verbs"
)

func TestMain(m *testing.M) {
	if runVictim() {
		return
	}
	goleak.VerifyTestMain(m)
}

// end is a device with a queue pair, not connected yet.
type end struct {
	t  *testing.T
	cq *verbs.CQ
	qp *verbs.QP
	mr *verbs.MR
}

func newEnd(t *testing.T, n *loopnet.Network, kind verbs.QPType) *end {
	t.Helper()
	dev := n.Open()
	t.Cleanup(func() { dev.Close() })
	e := &end{t: t}
	pd, err := dev.CreatePD()
	must(t, err)
	e.cq, err = dev.CreateCQ(64)
	must(t, err)
	e.mr, err = pd.AllocMemory(4096, verbs.LocalWrite|verbs.RemoteWrite)
	must(t, err)
	e.qp, err = pd.CreateQP(verbs.QPOptions{Type: kind, SendCQ: e.cq})
	must(t, err)
	return e
}

// wantState expects the queue pair to be in a state.
func (e *end) wantState(s verbs.State) {
	e.t.Helper()
	if got := e.qp.State(); got != s {
		e.t.Fatalf("state %v, want %v", got, s)
	}
}

// dialed is a pair of connections over loopback TCP.
func dialed(t *testing.T) (client, server *Conn) {
	t.Helper()
	l, err := Listen("127.0.0.1:0")
	must(t, err)
	defer l.Close()
	client, err = Dial(testContext(t), l.Addr().String())
	must(t, err)
	server, err = l.Accept(testContext(t))
	must(t, err)
	t.Cleanup(func() { client.Close(); server.Close() })
	return client, server
}

// outcome is what Connect answered.
type outcome struct {
	session *Session
	err     error
}

// connect runs Connect in the background.
func (e *end) connect(c *Conn, o Options) <-chan outcome {
	result := make(chan outcome, 1)
	ctx := testContext(e.t)
	go func() {
		s, err := Connect(ctx, c, e.qp, o)
		if s != nil {
			e.t.Cleanup(func() { s.Close() })
		}
		result <- outcome{s, err}
	}()
	return result
}

// connectedPair is two ends with their sessions.
func connectedPair(t *testing.T, kind verbs.QPType) (a, b *end, sa, sb *Session) {
	t.Helper()
	n := loopnet.New(loopnet.Options{})
	a, b = newEnd(t, n, kind), newEnd(t, n, kind)
	client, server := dialed(t)
	ra := a.connect(client, Options{PrivateData: []byte("from a")})
	rb := b.connect(server, Options{Regions: []Region{RegionOf("target", b.mr)}})
	oa, ob := <-ra, <-rb
	must(t, oa.err)
	must(t, ob.err)
	return a, b, oa.session, ob.session
}

func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// rawPeer is a peer of a server that the test plays by hand.
func rawPeer(t *testing.T, timeout time.Duration) (raw net.Conn, server *Conn) {
	t.Helper()
	client, server := dialed(t)
	server.SetTimeout(timeout)
	return client.tcp, server
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
