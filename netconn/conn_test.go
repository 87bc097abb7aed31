package netconn

import (
	"context"
	"net"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/net/nettest"

	"github.com/braid-rdma/braid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t testing.TB, cfg braid.Config) *braid.Context {
	t.Helper()
	c, err := braid.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// soon is a context that ends when a test has waited for too long.
func soon(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func listen(t testing.TB, c *braid.Context) *Listener {
	t.Helper()
	l, err := Listen(c, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// connect makes the two ends of a connection.
func connect(t testing.TB, client *braid.Context, l *Listener) (here, there *Conn) {
	t.Helper()
	here, err := Dial(soon(t), client, l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return here, accepted.(*Conn)
}

func pair(t testing.TB, cfg braid.Config) (here, there *Conn) {
	t.Helper()
	return connect(t, open(t, cfg), listen(t, open(t, cfg)))
}

func TestConn(t *testing.T) {
	client, l := open(t, braid.Config{}), listen(t, open(t, braid.Config{}))
	nettest.TestConn(t, func() (c1, c2 net.Conn, stop func(), err error) {
		here, there := connect(t, client, l)
		return here, there, func() { here.Close(); there.Close() }, nil
	})
}
