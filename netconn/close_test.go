package netconn

import (
	"testing"
	"time"

	"github.com/braid-rdma/braid"
)

// A connection whose channel is closed right behind it, as closing the context does, has ended its stream all the same.
func TestCloseBeforeTheChannel(t *testing.T) {
	client, l := open(t, braid.Config{}), listen(t, open(t, braid.Config{}))
	want := text(100)
	for range 50 {
		a, b := connect(t, client, l)
		if _, err := a.Write(want); err != nil {
			t.Fatal(err)
		}
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		go a.Channel().Close()
		wantRead(t, b, want)
		wantEOF(t, b)
		b.Close()
		if t.Failed() {
			break
		}
	}
}

// fill writes until the peer's window is full.
func fill(t *testing.T, c *Conn) (written int) {
	t.Helper()
	if err := c.SetWriteDeadline(time.Now().Add(20 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	for sent := error(nil); sent == nil; {
		var n int
		n, sent = c.Write(make([]byte, 4096))
		written += n
	}
	return written
}

// The stream of a connection ends behind what was written also where the peer's window was full when it was closed.
func TestCloseWithAFullWindow(t *testing.T) {
	client, l := open(t, braid.Config{}), listen(t, open(t, braid.Config{}))
	for range 20 {
		a, b := connect(t, client, l)
		written := fill(t, a)
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		go a.Channel().Close()
		wantRead(t, b, make([]byte, written))
		wantEOF(t, b)
		b.Close()
	}
}

// A connection that is closed waits for its peer no longer than its channel does.
func TestCloseLingers(t *testing.T) {
	a, _ := pair(t, braid.Config{Linger: 10 * time.Millisecond})
	fill(t, a)
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-a.Channel().Done():
	case <-time.After(4 * time.Second):
		t.Error("the channel waits for a peer that does not read")
	}
}
