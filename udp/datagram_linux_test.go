package udp

import (
	"bytes"
	"testing"

	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
	"golang.org/x/sys/unix"
)

// overwriter is a program that uses the memory of a datagram again as soon as it
// has the completion, which in another thread is at once.
type overwriter struct {
	verbs.Sink
	memory []byte
}

func (o *overwriter) Deliver(c *transport.Completion) {
	if c.Op == transport.OpSend {
		clear(o.memory)
	}
	o.Sink.Deliver(c)
}

// TestDatagramIsTakenBeforeItCompletes: the peer gets what the memory held when the
// datagram was posted, whether the kernel takes it at once or has no room.
func TestDatagramIsTakenBeforeItCompletes(t *testing.T) {
	o := verbs.QPOptions{Type: verbs.UD}
	a, b := openEnd(t, Config{Paths: 2}, o, 1<<20), openEnd(t, Config{Paths: 2}, o, 1<<20)
	const key, size = 0x11223344, 4096
	noError(t, a.qp.Activate(key))
	noError(t, b.qp.Activate(key))
	to, err := a.pd.CreateAH(b.dev.Query().Local)
	noError(t, err)
	want := make([]byte, size)
	fill(want, 3)

	e := engineOf(a.dev)
	e.Lock()
	p := e.ports[a.qp.Number()]
	p.sink = &overwriter{p.sink, a.mr.Bytes()[:size]}
	e.Unlock()
	for n := range 6 {
		if n == 3 {
			calls := 0
			hookSends(e, func(path int, messages []mmsghdr) (int, unix.Errno) {
				if calls++; calls%2 == 1 {
					return 0, unix.EAGAIN
				}
				return sendmmsg(pathFD(e, path), messages)
			})
		}
		copy(a.mr.Bytes(), want)
		noError(t, b.qp.PostRecv(&verbs.RecvWR{SGEs: []verbs.SGE{b.mr.SGE(0, 2*size)}}))
		noError(t, a.qp.PostSend(&verbs.SendWR{
			Op: verbs.OpSend, Flags: verbs.Signaled, SGEs: []verbs.SGE{a.mr.SGE(0, size)},
			AH: to, RemoteQPN: b.qp.Number(), RemoteQKey: key,
		}))
		a.wait()
		b.wait()
		if !bytes.Equal(b.mr.Bytes()[verbs.GRHLength:][:size], want) {
			t.Fatal("the datagram has bytes from after its completion")
		}
	}
}

// TestDatagramTakesThePathOfItsHandle: the source port is that of the path, whatever the number
// of the queue pair.
func TestDatagramTakesThePathOfItsHandle(t *testing.T) {
	o := verbs.QPOptions{Type: verbs.UD}
	a, b := openEnd(t, Config{Paths: 4}, o, 1<<12), openEnd(t, Config{Paths: 4}, o, 1<<12)
	noError(t, a.qp.Activate(1))
	noError(t, b.qp.Activate(1))
	to, err := a.pd.CreateAH(b.dev.Query().Local)
	noError(t, err)
	for path := range 6 { // beyond the fourth they begin anew
		before, _ := StatsOf(a.dev)
		noError(t, b.qp.PostRecv(&verbs.RecvWR{SGEs: []verbs.SGE{b.mr.All()}}))
		noError(t, a.qp.PostSend(&verbs.SendWR{Op: verbs.OpSend, Inline: []byte("x"), AH: verbs.AHOnPath(to, path), RemoteQPN: b.qp.Number(), RemoteQKey: 1}))
		b.wait()
		after, _ := StatsOf(a.dev)
		sent := func(s *Stats, source int) uint64 {
			if source >= len(s.Paths) {
				return 0
			}
			return s.Paths[source].Packets
		}
		for source := range 4 {
			want := uint64(0)
			if source == path%4 {
				want = 1
			}
			if want == 1 && (after.Paths[source].SourcePort == 0 || SourcePortOf(a.dev, path) != after.Paths[source].SourcePort) {
				t.Errorf("path %d has port %d, want %d", path, SourcePortOf(a.dev, path), after.Paths[source].SourcePort)
			}
			if got := sent(&after, source) - sent(&before, source); got != want {
				t.Errorf("datagram on path %d: %d packets from source port %d, want %d", path, got, source, want)
			}
		}
	}
}
