package netconn

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/braid-rdma/braid"
)

// text is n bytes that have no period.
func text(n int) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{byte(n)}).Read(b)
	return b
}

// wantRead reads exactly what is wanted.
func wantRead(t *testing.T, c net.Conn, want []byte) {
	t.Helper()
	got := make([]byte, len(want))
	if n, err := io.ReadFull(c, got); err != nil {
		t.Errorf("read %d of %d bytes: %v", n, len(want), err)
	} else if !bytes.Equal(got, want) {
		t.Errorf("%d bytes arrive as others", len(want))
	}
}

func wantEOF(t *testing.T, c net.Conn) {
	t.Helper()
	for range 2 { // the end stays the end
		if rest, err := io.ReadAll(c); len(rest) > 0 || err != nil {
			t.Errorf("after the end: %d bytes, %v, want io.EOF", len(rest), err)
		}
	}
}

// Writes of all lengths arrive as one stream, in both directions at the same time.
func TestStream(t *testing.T) {
	a, b := pair(t, braid.Config{})
	want := text(12 << 20)
	var all sync.WaitGroup
	defer all.Wait()
	for _, c := range []*Conn{a, b} {
		all.Go(func() {
			r := rand.New(rand.NewPCG(3, 4))
			for rest := want; len(rest) > 0; {
				n := min(len(rest), 1<<r.IntN(23))
				if m, err := c.Write(rest[:n]); m != n || err != nil {
					t.Errorf("write %d bytes: %d, %v", n, m, err)
					break
				}
				rest = rest[n:]
			}
			if err := c.CloseWrite(); err != nil {
				t.Error(err)
			}
		})
		all.Go(func() {
			wantRead(t, c, want)
			wantEOF(t, c)
		})
	}
}

// A peer with other limits than ours is written to within its own.
func TestSmallPeer(t *testing.T) {
	client := open(t, braid.Config{})
	a, b := connect(t, client, listen(t, open(t, braid.Config{SmallMessage: 100, MaxMessage: 5000})))
	want := text(1 << 20)
	go a.Write(want)
	wantRead(t, b, want)
	go b.Write(want)
	wantRead(t, a, want)
}

func TestHalfClose(t *testing.T) {
	a, b := pair(t, braid.Config{})
	question, reply := []byte("question"), text(3<<20)
	if _, err := a.Write(question); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(a.CloseWrite(), a.CloseWrite()); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Write(question); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Write after CloseWrite: %v", err)
	}
	wantRead(t, b, question)
	wantEOF(t, b)
	go func() {
		b.Write(reply)
		b.Close()
	}()
	wantRead(t, a, reply)
	wantEOF(t, a)
	if err := a.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	for _, err := range []error{a.Close(), a.CloseWrite(), a.SetDeadline(time.Now())} {
		if !errors.Is(err, net.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	}
}

// What was written before Close arrives, though nobody has begun to read.
func TestCloseDelivers(t *testing.T) {
	a, b := pair(t, braid.Config{})
	want := text(20 << 10)
	for rest := want; len(rest) > 0; rest = rest[512:] {
		if _, err := a.Write(rest[:512]); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Read after Close: %v", err)
	}
	wantRead(t, b, want)
	wantEOF(t, b)
	<-a.Channel().Done()
	<-b.Channel().Done()
	if _, err := b.Write(want); !errors.Is(err, braid.ErrPeerClosed) {
		t.Errorf("Write when the peer has gone: %v", err)
	}
	wantEOF(t, b)
}

// Two ends that close with unread data do not wait for each other.
func TestBothClose(t *testing.T) {
	a, b := pair(t, braid.Config{Linger: time.Hour})
	for _, c := range []*Conn{a, b} {
		if _, err := c.Write(text(8 << 10)); err != nil {
			t.Fatal(err)
		}
	}
	a.Close()
	b.Close()
	<-a.Channel().Done()
	<-b.Channel().Done()
}

// Close ends a Write that waits for the peer, and what it had written arrives.
func TestCloseDuringWrite(t *testing.T) {
	a, b := pair(t, braid.Config{})
	want := text(64 << 20)
	written := make(chan int)
	go func() {
		n, err := a.Write(want)
		if !errors.Is(err, net.ErrClosed) {
			t.Errorf("Write: %v", err)
		}
		written <- n
	}()
	wantRead(t, b, want[:5<<20])
	a.Close()
	n := <-written
	wantRead(t, b, want[5<<20:n])
	wantEOF(t, b)
}

// A Write that its deadline ends tells how many bytes the peer gets, so that writing the rest
// makes the stream whole.
func TestWriteAfterDeadline(t *testing.T) {
	client, l := open(t, braid.Config{}), listen(t, open(t, braid.Config{}))
	for _, length := range []int{1000, 5000, 100_000, 10 << 20} {
		a, b := connect(t, client, l)
		want := text(16 << 20) // more than the window takes
		sent := 0
		for ended := 0; ended < 3 && sent < len(want); {
			if err := a.SetWriteDeadline(time.Now().Add(5 * time.Millisecond)); err != nil {
				t.Fatal(err)
			}
			n, err := a.Write(want[sent:min(sent+length, len(want))])
			if sent += n; errors.Is(err, os.ErrDeadlineExceeded) {
				ended++
			} else if err != nil {
				t.Fatal(err)
			}
		}
		go func() {
			a.SetWriteDeadline(time.Time{})
			a.Write(want[sent:])
			a.Close()
		}()
		wantRead(t, b, want)
		wantEOF(t, b)
		b.Close()
	}
}

// A channel that ends without the mark of the end is no io.EOF: the stream may be cut.
func TestCutStream(t *testing.T) {
	a, b := pair(t, braid.Config{})
	if _, err := a.Write([]byte("half a")); err != nil {
		t.Fatal(err)
	}
	go a.Channel().Close()
	wantRead(t, b, []byte("half a"))
	if _, err := b.Read(make([]byte, 1)); !errors.Is(err, braid.ErrPeerClosed) {
		t.Errorf("Read: %v", err)
	}
}

// A peer that makes calls is not one that New was called for.
func TestNotStream(t *testing.T) {
	a, b := pair(t, braid.Config{})
	go a.Channel().Call(soon(t), []byte("what?"))
	if _, err := b.Read(make([]byte, 1)); !errors.Is(err, braid.ErrPeer) {
		t.Errorf("Read: %v", err)
	}
}

func TestAddresses(t *testing.T) {
	client := open(t, braid.Config{})
	l := listen(t, open(t, braid.Config{}))
	a, b := connect(t, client, l)
	if a.RemoteAddr().String() != l.Addr().String() || a.RemoteAddr().Network() != "braid" {
		t.Errorf("connected to %v %v, want %v", a.RemoteAddr().Network(), a.RemoteAddr(), l.Addr())
	}
	if b.RemoteAddr().String() != a.LocalAddr().String() || b.LocalAddr().String() != a.RemoteAddr().String() {
		t.Errorf("the ends are %v - %v and %v - %v", a.LocalAddr(), a.RemoteAddr(), b.LocalAddr(), b.RemoteAddr())
	}
}

func TestListenerCloses(t *testing.T) {
	l := listen(t, open(t, braid.Config{}))
	accepted := make(chan error)
	go func() {
		_, err := l.Accept()
		accepted <- err
	}()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if err := <-accepted; !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept: %v", err)
	}
}

func TestDialFails(t *testing.T) {
	c := open(t, braid.Config{})
	l := listen(t, open(t, braid.Config{}))
	l.Close()
	conn, err := Dialer{c}.DialContext(soon(t), "tcp", l.Addr().String())
	var op *net.OpError
	if conn != nil || !errors.As(err, &op) || op.Op != "dial" || !errors.Is(err, braid.ErrRejected) {
		t.Errorf("dial where nobody listens: %v, %v", conn, err)
	}
}

// A connection that is closed says so at once, while a peer that does not read keeps its
// channel from ending.
func TestUseWhileClosing(t *testing.T) {
	a, b := pair(t, braid.Config{})
	if err := a.SetWriteDeadline(time.Now().Add(20 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	for sent := error(nil); sent == nil; {
		_, sent = a.Write(make([]byte, 4096)) // until the window is full
	}
	a.Close()
	for range 20 {
		time.Sleep(time.Millisecond) // the channel is being closed
		_, read := a.Read(make([]byte, 1))
		_, write := a.Write([]byte{1})
		for _, err := range []error{read, write, a.CloseWrite()} {
			if !errors.Is(err, net.ErrClosed) {
				t.Errorf("while closing: %v", err)
			}
		}
	}
	if err := a.Channel().Err(); err != nil {
		t.Errorf("the channel has ended: %v", err)
	}
	if _, err := io.Copy(io.Discard, b); err != nil {
		t.Error(err)
	}
	<-a.Channel().Done()
}

// BenchmarkPieces writes 1 MiB in pieces of 32 KiB, as io.Copy does, with small messages of the default length and of that of a piece.
func BenchmarkPieces(b *testing.B) {
	const piece = 32 << 10
	for name, cfg := range map[string]braid.Config{"small=4KiB": {}, "small=32KiB": {SmallMessage: piece}} {
		b.Run(name, func(b *testing.B) {
			here, there := pair(b, cfg)
			all, into := text(1<<20), make([]byte, 1<<20)
			b.SetBytes(int64(len(all)))
			var writing sync.WaitGroup
			for b.Loop() {
				writing.Go(func() {
					for p := range slices.Chunk(all, piece) {
						if _, err := here.Write(p); err != nil {
							b.Error(err)
							return
						}
					}
				})
				if _, err := io.ReadFull(there, into); err != nil {
					b.Fatal(err)
				}
				writing.Wait()
			}
		})
	}
}
