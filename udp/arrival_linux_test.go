package udp

import (
	"context"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

// TestArrivalIsBeforeTheThreadRuns: what a completion says of its arrival is when the kernel had the packet,
// however long nobody took it; of datagrams and of what comes over a connection.
func TestArrivalIsBeforeTheThreadRuns(t *testing.T) {
	for _, kind := range []verbs.QPType{verbs.UD, verbs.RC, verbs.MP} {
		t.Run(kind.String(), func(t *testing.T) {
			o := verbs.QPOptions{Type: kind}
			a, b := openEnd(t, Config{Paths: 2}, o, 1<<12), openEnd(t, Config{Paths: 2}, o, 1<<12)
			noError(t, b.cq.StampArrivals())
			wr := verbs.SendWR{Op: verbs.OpSend, Inline: []byte("now")}
			if kind == verbs.UD {
				noError(t, a.qp.Activate(1))
				noError(t, b.qp.Activate(1))
				to, err := a.pd.CreateAH(b.dev.Query().Local)
				noError(t, err)
				wr.AH, wr.RemoteQPN, wr.RemoteQKey = to, b.qp.Number(), 1
			} else {
				noError(t, a.qp.Connect(b.qp.Params()))
				noError(t, b.qp.Connect(a.qp.Params()))
			}
			e := engineOf(b.dev)
			// The kernel begins to stamp packets some time after it was asked to, and may have been about to
			// end it for a socket of before.
			for try, good := 0, 0; good < 3; try++ {
				noError(t, b.qp.PostRecv(&verbs.RecvWR{SGEs: []verbs.SGE{b.mr.All()}}))
				e.Lock() // nobody receives
				before := e.Now()
				noError(t, a.qp.PostSend(&wr))
				awaitReadable(t, e.own.rx.fd)
				there := e.Now()
				for e.Now() < there+transport.Millisecond {
				}
				e.Unlock()
				var done [4]verbs.Completion
				var at [4]verbs.Time
				n, err := b.cq.WaitStamped(context.Background(), done[:], at[:])
				noError(t, err)
				switch {
				case n != 1 || at[0] < before-transport.Second || at[0] > there && try > 1000:
					t.Fatalf("sent at %d, in the socket at %d, said to have arrived at %d", before, there, at[0])
				case at[0] <= there:
					good++
				}
			}
		})
	}
}

// awaitReadable waits until a packet lies in a socket.
func awaitReadable(t *testing.T, fd int) {
	t.Helper()
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1)
		if n == 1 {
			return
		}
		if err != unix.EINTR {
			t.Fatal(err)
		}
	}
}

// TestArrivalOfAClockThatWasSet: times that cannot be are taken for now.
func TestArrivalOfAClockThatWasSet(t *testing.T) {
	var a arrivals
	now := a.begin()
	kernel := int64(now) + a.offset
	for _, test := range []struct {
		stamp int64
		want  transport.Time
	}{
		{0, now},
		{kernel - 5000, now - 5000},
		{kernel + 1, now},
		{kernel - int64(2*oldestArrival), now},
	} {
		if a.arrived(test.stamp, now); a.packet != test.want {
			t.Errorf("a stamp %d ns before now: %d, want %d", kernel-test.stamp, a.packet, test.want)
		}
	}
}

// TestArrivalsKeepTheirOrder: each receive has the time of its own datagram, and a failed one none.
func TestArrivalsKeepTheirOrder(t *testing.T) {
	var p portArrivals
	p.handled(10, true, transport.Place)
	p.handled(11, true, transport.Drop)
	p.handled(12, true, transport.Done)
	recv := transport.Completion{Op: transport.OpRecv}
	failed := transport.Completion{Op: transport.OpRecv, Status: transport.WRFlushErr}
	send := transport.Completion{Op: transport.OpSend}
	for i, test := range []struct {
		c    transport.Completion
		want transport.Time
	}{{recv, 10}, {failed, 99}, {send, 55}, {recv, 12}, {recv, 99}} {
		if got := p.of(&test.c, 55, 99); got != test.want {
			t.Errorf("completion %d: %d, want %d", i, got, test.want)
		}
	}
	p.handled(20, false, transport.Place)
	p.handled(21, false, transport.Drop)
	if got := p.of(&send, 55, 99); got != 21 {
		t.Errorf("of a connection: %d", got)
	}
}

// TestDatagramIsStampedBeforeItLeaves: the completion of a datagram that was sent has the time at which the kernel was
// called, whatever the call takes.
func TestDatagramIsStampedBeforeItLeaves(t *testing.T) {
	o := verbs.QPOptions{Type: verbs.UD}
	a := openEnd(t, Config{Paths: 2}, o, 1<<12)
	noError(t, a.cq.StampArrivals())
	noError(t, a.qp.Activate(1))
	to, err := a.pd.CreateAH(a.dev.Query().Local)
	noError(t, err)
	e := engineOf(a.dev)
	var called transport.Time
	hookSends(e, func(path int, messages []mmsghdr) (int, unix.Errno) {
		called = e.Now()
		for e.Now() < called+transport.Millisecond {
		}
		return sendmmsg(pathFD(e, path), messages)
	})
	before := e.Now()
	noError(t, a.qp.PostSend(&verbs.SendWR{Op: verbs.OpSend, Flags: verbs.Signaled, Inline: []byte("x"), AH: to, RemoteQPN: 99, RemoteQKey: 1}))
	var done [1]verbs.Completion
	var at [1]verbs.Time
	_, err = a.cq.WaitStamped(context.Background(), done[:], at[:])
	noError(t, err)
	if at[0] < before || at[0] > called {
		t.Errorf("posted at %d, the kernel was called at %d, the stamp is %d", before, called, at[0])
	}
}
