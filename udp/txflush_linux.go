package udp

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// sendChunk is the most messages of one system call. A call does not tell the Go
// scheduler that it is away, so it should not be away for long: 16 messages of 64 KiB
// take a few hundred microseconds.
const sendChunk = 16

// sendFunc sends messages, without waiting, and returns how many the kernel took. It
// returns an error only if the kernel did not take the first one.
type sendFunc func(fd int, messages []mmsghdr) (int, unix.Errno)

// sendmmsg is the sendFunc of the kernel.
func sendmmsg(fd int, messages []mmsghdr) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall6(unix.SYS_SENDMMSG, uintptr(fd), uintptr(unsafe.Pointer(&messages[0])),
		uintptr(len(messages)), unix.MSG_DONTWAIT, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), 0
}

// flushResult counts packets. Those that the kernel had no room for are neither sent
// nor lost: they stay queued for the next flush.
type flushResult struct {
	sent    int
	dropped int // given up after an error; the path's statistics tell which
	queued  int
}

// flush sends what is queued, path by path. An error of one message does not stop the
// others; lack of buffer space stops its path only.
func (b *txBatch) flush() (result flushResult) {
	b.checkComplete()
	stillActive := b.active[:0]
	for _, path := range b.active {
		if !b.flushPath(int(path), &result) {
			stillActive = append(stillActive, path)
		}
	}
	b.active = stillActive
	result.queued = b.queued
	return result
}

// flushPath sends the messages of one path and says whether it sent, or gave up, all.
func (b *txBatch) flushPath(path int, result *flushResult) bool {
	queue, socket := &b.queues[path], b.pool.socket(path)
	socket.blocked = false
	for queue.head != noSlot {
		slot := &b.slots[queue.head]
		if slot.split || (slot.packets > 1 && !socket.gso) {
			if !b.sendSplit(socket, slot, result) {
				return false
			}
			b.pop(queue)
			continue
		}
		sent, errno := b.send(socket.fd, b.headers[:b.fill(queue.head, socket.gso)])
		socket.stats.calls++
		for range sent {
			done := &b.slots[queue.head]
			socket.stats.messages++
			socket.stats.packets += uint64(done.packets)
			socket.stats.bytes += uint64(done.bytes)
			result.sent += done.packets
			b.pop(queue)
		}
		switch verdict := socket.judge(b, slot, errno); verdict {
		case sendBlocked:
			return false
		case sendGiveUp:
			socket.stats.dropped += uint64(slot.packets)
			result.dropped += slot.packets
			b.pop(queue)
		}
	}
	return true
}

// fill describes to the kernel the messages of a chain from index on, up to one that
// must be split or to the end of the chunk, and returns their number.
func (b *txBatch) fill(index int32, gso bool) (n int) {
	for index != noSlot && n < sendChunk {
		slot := &b.slots[index]
		if slot.split || (slot.packets > 1 && !gso) {
			break
		}
		hdr := &b.headers[n].hdr
		hdr.Name = (*byte)(unsafe.Pointer(&slot.dst.raw))
		hdr.Namelen = slot.dst.size
		hdr.Iov = &slot.iovecs[0]
		hdr.SetIovlen(slot.pieces)
		segment := 0
		if slot.packets > 1 {
			segment = slot.segment
		}
		slot.control.describe(hdr, &slot.dst.source, segment)
		index = slot.next
		n++
	}
	return n
}

// sendVerdict is what to do with the first message of a queue after a call.
type sendVerdict int

const (
	sendGoOn    sendVerdict = iota // it was sent, or is to be tried again
	sendBlocked                    // the kernel has no room: keep it
	sendGiveUp                     // it cannot be sent
)

// judge decides about the message that met errno, and counts the error.
func (s *txSocket) judge(b *txBatch, slot *txSlot, errno unix.Errno) sendVerdict {
	switch errno {
	case 0, unix.EINTR:
		return sendGoOn
	case unix.EAGAIN:
		s.blocked = true
		s.stats.wouldBlock++
		return sendBlocked
	case unix.ENOBUFS, unix.ENOMEM:
		s.stats.noBuffers++
		return sendBlocked
	}
	b.drainErrors(s.fd)
	if refusesSegments(errno) && slot.packets > 1 && !slot.split {
		slot.split, slot.closed, slot.refusal = true, true, errno
		return sendGoOn
	}
	if slot.retried {
		return sendGiveUp
	}
	// An ICMP error is reported by the send that follows the one which caused it, and
	// then that message has not been sent. A second try tells the cases apart.
	s.stats.fail(errno)
	slot.retried = true
	return sendGoOn
}

// refusesSegments says whether errno may mean that UDP_SEGMENT is the trouble: EIO is a
// device without checksums, EINVAL an old limit, EMSGSIZE a lack of fragments in the
// kernel's buffer or a packet that is too big by itself, which the second try will show.
func refusesSegments(errno unix.Errno) bool {
	return errno == unix.EIO || errno == unix.EINVAL || errno == unix.EMSGSIZE || errno == unix.EOPNOTSUPP
}

// drainErrors empties a socket's queue of errors, whose news the failed send has
// already brought, so that they neither fail the next send nor fill the buffer.
func (b *txBatch) drainErrors(fd int) {
	for range 64 {
		b.scratch = unix.Msghdr{}
		_, _, errno := unix.RawSyscall(unix.SYS_RECVMSG, uintptr(fd), uintptr(unsafe.Pointer(&b.scratch)),
			unix.MSG_ERRQUEUE|unix.MSG_DONTWAIT)
		if errno != 0 {
			return
		}
	}
}
