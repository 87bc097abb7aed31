package udp

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/braid-rdma/braid/verbs"
	"golang.org/x/sys/unix"
)

// stallLimit is the longest time without a completion that a path's failure may
// cause. The promise is 100 ms; the rest is for machines that are busy.
const stallLimit = 300 * time.Millisecond

// TestFault35PathCut cuts one of four paths in both directions while data moves,
// and restores it.
func TestFault35PathCut(t *testing.T) {
	a, b := connect(t, Config{Paths: 4}, verbs.QPOptions{Type: verbs.MP}, streamMemory(64<<10, 16))
	s := newStream(a, b, 64<<10, 16)
	s.runFor(100 * time.Millisecond)
	s.longestGap = 0
	FaultsOf(a.dev).Cut(1)
	s.runUntil("the path is retired", 300*time.Millisecond, func() bool { return a.qp.Stats().PathsRetired > 0 })
	if s.longestGap > stallLimit {
		t.Errorf("the cut stalled the connection for %v", s.longestGap)
	}
	if stats := statsOf(t, a.dev); stats.FaultDropped == 0 {
		t.Error("the cut dropped nothing")
	}
	FaultsOf(a.dev).Restore(1)
	before := a.qp.PathStats()[1].Acknowledged
	s.runUntil("the restored path carries packets", 0, func() bool { return a.qp.PathStats()[1].Acknowledged >= before+100 })
	if a.qp.State() != verbs.RTS {
		t.Errorf("state %v", a.qp.State())
	}
}

// TestFault36AcknowledgementsCut loses what one path brings back, while the
// data on it arrives.
func TestFault36AcknowledgementsCut(t *testing.T) {
	a, b := connect(t, Config{Paths: 4}, verbs.QPOptions{Type: verbs.MP}, streamMemory(64<<10, 16))
	s := newStream(a, b, 64<<10, 16)
	s.runFor(100 * time.Millisecond)
	s.longestGap = 0
	hookSends(engineOf(b.dev), func(path int, messages []mmsghdr) (int, unix.Errno) {
		if path == 2 {
			return len(messages), 0 // the kernel took them, and nobody sees them again
		}
		return sendmmsg(pathFD(engineOf(b.dev), path), messages)
	})
	s.runFor(300 * time.Millisecond)
	if s.longestGap > stallLimit {
		t.Errorf("the cut stalled the connection for %v", s.longestGap)
	}
	hookSends(engineOf(b.dev), nil)
	s.runFor(50 * time.Millisecond)
	if a.qp.State() != verbs.RTS || b.qp.State() != verbs.RTS {
		t.Errorf("states %v and %v", a.qp.State(), b.qp.State())
	}
}

// TestFault37AllPathsCut cuts everything for a while that the retries outlast.
func TestFault37AllPathsCut(t *testing.T) {
	a, b := connect(t, Config{Paths: 2}, verbs.QPOptions{Type: verbs.MP, Conn: verbs.ConnOptions{AckTimeout: 500 * time.Millisecond}}, streamMemory(16<<10, 8))
	s := newStream(a, b, 16<<10, 8)
	s.run(50)
	for path := range 2 {
		FaultsOf(a.dev).Cut(path)
	}
	timer := time.AfterFunc(400*time.Millisecond, func() {
		for path := range 2 {
			FaultsOf(a.dev).Restore(path)
		}
	})
	defer timer.Stop()
	s.runFor(500 * time.Millisecond)
	s.run(50)
}

func TestFault01Loss(t *testing.T) {
	for _, kind := range []verbs.QPType{verbs.RC, verbs.MP} {
		for _, loss := range []float64{0.01, 0.05, 0.1} {
			t.Run(fmt.Sprintf("%v/%v", kind, loss), func(t *testing.T) {
				// The default gives RC half a second in all; a busy machine may need that to run the peer once.
				o := verbs.QPOptions{Type: kind, Conn: verbs.ConnOptions{AckTimeout: 250 * time.Millisecond}}
				a, b := connect(t, Config{Paths: 2}, o, streamMemory(32<<10, 8))
				for path := range 2 {
					FaultsOf(a.dev).SetLoss(path, loss)
					FaultsOf(b.dev).SetLoss(path, loss)
				}
				s := newStream(a, b, 32<<10, 8)
				s.run(60)
				for range 50 { // with luck a hundred packets lose none
					if a.qp.Stats().Retransmitted > 0 {
						return
					}
					s.run(60)
				}
				t.Error("nothing was lost")
			})
		}
	}
}

// TestFault48Backpressure lets the kernel refuse and take in part what it is
// given. Nothing of it is loss.
func TestFault48Backpressure(t *testing.T) {
	for _, kind := range []verbs.QPType{verbs.RC, verbs.MP} {
		for _, errno := range []unix.Errno{unix.EAGAIN, unix.ENOBUFS, unix.ENOMEM} {
			t.Run(fmt.Sprintf("%v/%v", kind, unix.ErrnoName(errno)), func(t *testing.T) {
				a, b := connect(t, Config{Paths: 2}, verbs.QPOptions{Type: kind}, streamMemory(64<<10, 8))
				s := newStream(a, b, 64<<10, 8)
				e, calls := engineOf(a.dev), 0
				hookSends(e, func(path int, messages []mmsghdr) (int, unix.Errno) {
					calls++
					switch {
					case calls%3 == 0:
						return 0, errno
					case calls%3 == 1 && len(messages) > 1:
						messages = messages[:len(messages)/2]
					}
					return sendmmsg(pathFD(e, path), messages)
				})
				s.run(100)
				if stats := statsOf(t, a.dev); stats.Backpressure == 0 || stats.SendDropped != 0 {
					t.Errorf("back-pressure %d, dropped %d", stats.Backpressure, stats.SendDropped)
				}
			})
		}
	}
}

// TestFault48BackpressureUnattended fills the socket's buffer and leaves: the
// thread of the device sends the rest when there is room.
func TestFault48BackpressureUnattended(t *testing.T) {
	for _, errno := range []unix.Errno{unix.EAGAIN, unix.ENOBUFS} {
		t.Run(unix.ErrnoName(errno), func(t *testing.T) {
			const size = 1 << 20
			a, b := connect(t, Config{Paths: 2}, patientOptions(verbs.RC), size)
			fill(a.mr.Bytes(), 2)
			e, calls := engineOf(a.dev), 0
			hookSends(e, func(path int, messages []mmsghdr) (int, unix.Errno) {
				if calls++; calls < 10 {
					return 0, errno
				}
				return sendmmsg(pathFD(e, path), messages)
			})
			noError(t, a.qp.PostSend(&verbs.SendWR{
				Op: verbs.OpWrite, Flags: verbs.Signaled, SGEs: []verbs.SGE{a.mr.SGE(0, size)}, RemoteAddr: b.mr.Addr(), RKey: b.mr.RKey(),
			}))
			got := make([]byte, size)
			eventually(t, "the bytes arrive", func() bool {
				noError(t, b.mr.Load(0, got))
				return bytes.Equal(got, a.mr.Bytes())
			})
			if n := a.qp.Stats().LocalAckTimeoutErr; n != 0 {
				t.Errorf("it took %d timeouts to go on", n)
			}
			a.wait()
		})
	}
}

// TestFault48OneFullPath keeps one path full for good. The others must not wait
// for it for ever, and the connection must end well once it has room again.
func TestFault48OneFullPath(t *testing.T) {
	a, b := connect(t, Config{Paths: 4}, verbs.QPOptions{Type: verbs.MP}, streamMemory(64<<10, 8))
	s := newStream(a, b, 64<<10, 8)
	s.run(50)
	e := engineOf(a.dev)
	hookSends(e, func(path int, messages []mmsghdr) (int, unix.Errno) {
		if path == 3 {
			return 0, unix.ENOBUFS
		}
		return sendmmsg(pathFD(e, path), messages)
	})
	s.runFor(300 * time.Millisecond)
	if s.longestGap > time.Second {
		t.Errorf("a full path stalled the connection for %v", s.longestGap)
	}
	hookSends(e, nil)
	s.run(50)
}

// TestFault50SendErrors has the system refuse one path: a firewall, or a router
// that says that there is no way.
func TestFault50SendErrors(t *testing.T) {
	for _, errno := range []unix.Errno{unix.EPERM, unix.ECONNREFUSED, unix.EHOSTUNREACH, unix.ENETDOWN} {
		t.Run(unix.ErrnoName(errno), func(t *testing.T) {
			a, b := connect(t, Config{Paths: 4}, verbs.QPOptions{Type: verbs.MP}, streamMemory(64<<10, 8))
			s := newStream(a, b, 64<<10, 8)
			s.run(50)
			e := engineOf(a.dev)
			hookSends(e, func(path int, messages []mmsghdr) (int, unix.Errno) {
				if path == 1 {
					return 0, errno
				}
				return sendmmsg(pathFD(e, path), messages)
			})
			stats := statsOf(t, a.dev)
			s.runUntil("the path has its turn", 0, func() bool {
				stats = statsOf(t, a.dev)
				return stats.SendDropped > 0
			})
			if stats.Paths[1].Errors == 0 || stats.Paths[1].LastError == "" {
				t.Errorf("the errors were not counted: dropped %d, %+v", stats.SendDropped, stats.Paths[1])
			}
			hookSends(e, nil)
			s.run(50)
		})
	}
}

// TestFault49SmallSocketBuffer gives the receiver the smallest buffer that the
// kernel grants: not even the smallest window fits.
func TestFault49SmallSocketBuffer(t *testing.T) {
	for _, kind := range []verbs.QPType{verbs.RC, verbs.MP} {
		t.Run(kind.String(), func(t *testing.T) {
			memory := streamMemory(64<<10, 8)
			o := verbs.QPOptions{Type: kind}
			a := openEnd(t, Config{Paths: 2}, o, memory)
			b := openEnd(t, Config{Paths: 2, RecvBuffer: 4 << 10}, o, memory)
			join(t, a, b)
			newStream(a, b, 64<<10, 8).run(30)
			if stats := statsOf(t, b.dev); stats.SocketOverflow == 0 {
				t.Errorf("no overflow was counted: %+v", a.qp.Stats())
			}
		})
	}
}
