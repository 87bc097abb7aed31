package udp

import (
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"
)

// script stands in for the kernel in send calls. Each entry is one call: the error
// to return, or how many messages to let through to the kernel; 0 and calls beyond the
// end let everything through.
type script struct {
	answers []scriptAnswer
	calls   int
}

type scriptAnswer struct {
	errno unix.Errno
	limit int
}

// follow makes the pair's batch obey the answers.
func (p *pair) follow(answers ...scriptAnswer) *script {
	s := &script{answers: answers}
	p.batch.send = s.send
	return s
}

func (s *script) send(fd int, messages []mmsghdr) (int, unix.Errno) {
	var answer scriptAnswer
	if s.calls < len(s.answers) {
		answer = s.answers[s.calls]
	}
	s.calls++
	if answer.errno != 0 {
		return 0, answer.errno
	}
	if answer.limit > 0 && answer.limit < len(messages) {
		messages = messages[:answer.limit]
	}
	return sendmmsg(fd, messages)
}

// postRuns posts n messages of three packets each and returns the packets. The size of
// the runs grows, so that they do not join.
func (p *pair) postRuns(path, n int) (packets [][]byte) {
	p.t.Helper()
	for run := range n {
		for i := range 3 {
			packet := content(10*run+i, 200+100*run)
			packets = append(packets, packet)
			p.post(path, packet)
		}
	}
	return packets
}

func TestPartialSendContinues(t *testing.T) {
	p := newPair(t, pairOptions{})
	packets := p.postRuns(0, 5)
	script := p.follow(scriptAnswer{limit: 2}, scriptAnswer{errno: unix.EINTR}, scriptAnswer{limit: 1})
	p.wantFlush(flushResult{sent: 15})
	p.wantPackets(packets...)
	if script.calls != 4 {
		t.Errorf("%d system calls, want 4", script.calls)
	}
}

func TestBackpressureKeepsPackets(t *testing.T) {
	for _, errno := range []unix.Errno{unix.EAGAIN, unix.ENOBUFS, unix.ENOMEM} {
		t.Run(errno.Error(), func(t *testing.T) {
			p := newPair(t, pairOptions{paths: 2})
			packets := p.postRuns(0, 3)
			other := content(99, 50)
			p.post(1, other)
			p.follow(scriptAnswer{limit: 1}, scriptAnswer{errno: errno})
			p.wantFlush(flushResult{sent: 4, queued: 6}) // path 1 is not held up by path 0
			p.wantPackets(packets[0], packets[1], packets[2], other)
			if p.batch.backlog() != 6 {
				t.Errorf("backlog %d, want 6", p.batch.backlog())
			}

			socket := p.pool.sockets[0]
			if socket.blocked != (errno == unix.EAGAIN) {
				t.Errorf("blocked is %t", socket.blocked)
			}
			if socket.blocked {
				if events, err := p.poll.wait(0); err != nil || !events.writable {
					t.Errorf("wait reports %+v, %v; the socket has room", events, err)
				}
			}
			if socket.stats.dropped != 0 || socket.stats.failures != [numSendFailures]uint64{} {
				t.Errorf("backpressure was counted as failure: %+v", socket.stats)
			}
			if socket.stats.wouldBlock+socket.stats.noBuffers != 1 {
				t.Errorf("backpressure was not counted: %+v", socket.stats)
			}

			// New packets queue up behind the old ones.
			late := content(100, 60)
			p.post(0, late)
			p.wantFlush(flushResult{sent: 7})
			p.wantPackets(append(packets[3:], late)...)
		})
	}
}

func TestFailedMessageDoesNotStopOthers(t *testing.T) {
	tests := []struct {
		errno unix.Errno
		kind  sendFailure
	}{
		{unix.EPERM, failDenied},
		{unix.ECONNREFUSED, failRefused},
		{unix.EHOSTUNREACH, failUnreachable},
		{unix.ENETUNREACH, failUnreachable},
		{unix.EBADF, failOther},
	}
	for _, test := range tests {
		t.Run(test.errno.Error(), func(t *testing.T) {
			p := newPair(t, pairOptions{})
			packets := p.postRuns(0, 3)
			p.follow(scriptAnswer{limit: 1}, scriptAnswer{errno: test.errno}, scriptAnswer{errno: test.errno})
			p.wantFlush(flushResult{sent: 6, dropped: 3})
			p.wantPackets(append(packets[:3:3], packets[6:]...)...)
			stats := p.pool.sockets[0].stats
			if stats.failures[test.kind] != 1 || stats.dropped != 3 || stats.lastErr != test.errno {
				t.Errorf("statistics %+v", stats)
			}
		})
	}
}

func TestErrorOfEarlierMessageLosesNothing(t *testing.T) {
	p := newPair(t, pairOptions{})
	packets := p.postRuns(0, 1)
	p.follow(scriptAnswer{errno: unix.ECONNREFUSED})
	p.wantFlush(flushResult{sent: 3})
	p.wantPackets(packets...)
	if stats := p.pool.sockets[0].stats; stats.failures[failRefused] != 1 || stats.dropped != 0 {
		t.Errorf("statistics %+v", stats)
	}
}

func TestRefusedSegmentation(t *testing.T) {
	for _, errno := range []unix.Errno{unix.EIO, unix.EINVAL} {
		t.Run(errno.Error(), func(t *testing.T) {
			p := newPair(t, pairOptions{})
			packets := p.postRuns(0, 2)
			// The refusal, one packet of the split message, then no room: the rest must wait.
			p.follow(scriptAnswer{errno: errno}, scriptAnswer{}, scriptAnswer{errno: unix.EAGAIN})
			p.wantFlush(flushResult{sent: 1, queued: 5})
			p.wantFlush(flushResult{sent: 5})
			p.wantPackets(packets...)
			socket := p.pool.sockets[0]
			if socket.gso || socket.stats.gsoRefused != 1 || socket.stats.dropped != 0 {
				t.Errorf("gso %t, statistics %+v", socket.gso, socket.stats)
			}
			if first, second := p.post(0, packets[0]), p.post(0, packets[1]); first != 0 || second != 0 {
				t.Errorf("segments %d and %d after segmentation was refused", first, second)
			}
		})
	}
}

func TestSegmentationOutlivesOtherErrors(t *testing.T) {
	p := newPair(t, pairOptions{})
	p.postRuns(0, 1)
	// Every packet is refused in the same way, so segmentation was not the cause.
	var answers []scriptAnswer
	for range 7 {
		answers = append(answers, scriptAnswer{errno: unix.EINVAL})
	}
	p.follow(answers...)
	p.wantFlush(flushResult{dropped: 3})
	if socket := p.pool.sockets[0]; !socket.gso || socket.stats.failures[failOther] != 3 {
		t.Errorf("gso %t, statistics %+v", socket.gso, socket.stats)
	}
}

// TestTooBigForThePath makes up the kernel's answer, because the loopback's MTU is larger
// than any datagram.
func TestTooBigForThePath(t *testing.T) {
	p := newPair(t, pairOptions{})
	p.postRuns(0, 1)
	p.follow(scriptAnswer{errno: unix.EMSGSIZE}, scriptAnswer{errno: unix.EMSGSIZE}, scriptAnswer{errno: unix.EMSGSIZE})
	p.wantFlush(flushResult{sent: 2, dropped: 1})
	if socket := p.pool.sockets[0]; !socket.gso || socket.stats.failures[failTooBig] != 1 {
		t.Errorf("gso %t, statistics %+v", socket.gso, socket.stats)
	}
}

// TestICMPErrorMarksPath sends to a port where nothing listens: the kernel answers with
// ICMP, which the path's statistics must show.
func TestICMPErrorMarksPath(t *testing.T) {
	for _, ip := range []netip.Addr{loopback4, loopback6} {
		p := newPair(t, pairOptions{ip: ip})
		closed := newPair(t, pairOptions{ip: ip})
		closed.rx.close()
		live := p.dst
		p.dst = closed.dst
		p.post(0, content(0, 100))
		p.wantFlush(flushResult{sent: 1})
		p.dst = live
		p.post(0, content(1, 100))
		p.wantFlush(flushResult{sent: 1})
		p.wantPackets(content(1, 100))
		if stats := p.pool.sockets[0].stats; stats.failures[failRefused] != 1 || stats.dropped != 0 {
			t.Errorf("%v: statistics %+v", ip, stats)
		}
		// An error left in the socket's queue would end every wait for room at once.
		fds := []unix.PollFd{{Fd: int32(p.pool.sockets[0].fd)}}
		if n, err := unix.Poll(fds, 0); n != 0 || err != nil {
			t.Errorf("%v: poll events %#x, %v after the error was counted", ip, fds[0].Revents, err)
		}
	}
}

func TestReferencesAreDropped(t *testing.T) {
	p := newPair(t, pairOptions{})
	p.postRuns(0, 2)
	p.wantFlush(flushResult{sent: 6})
	for i := range p.batch.slots {
		for _, piece := range p.batch.slots[i].iovecs {
			if piece.Base != nil {
				t.Fatal("the batch still refers to memory that it has sent")
			}
		}
	}
}
