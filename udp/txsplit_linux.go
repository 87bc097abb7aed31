package udp

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// sendSplit sends the packets of a message one by one, because segmentation was
// refused, and says whether it came to the end; otherwise the kernel lacks room and the
// rest stays for the next flush.
//
// Over IPv4 these packets carry IP id 0 and not their index, so a receiver that checks
// the ICRC with the id rejects all but the first. To the transport that is a loss; it
// happens once, since begin forms no more runs on this socket.
func (b *txBatch) sendSplit(socket *txSocket, slot *txSlot, result *flushResult) bool {
	slot.split, slot.closed = true, true
	for slot.done < slot.packets {
		start := slot.done * slot.segment
		length := min(slot.segment, slot.bytes-start)
		header := &b.headers[0]
		header.hdr = unix.Msghdr{
			Name:    (*byte)(unsafe.Pointer(&slot.dst.raw)),
			Namelen: slot.dst.size,
			Iov:     &b.single[0],
		}
		pieces := cut(b.single[:], slot.iovecs[:slot.pieces], start, length)
		header.hdr.SetIovlen(pieces)
		slot.control.describe(&header.hdr, &slot.dst.source, 0)
		_, errno := b.send(socket.fd, b.headers[:1])
		clear(b.single[:pieces])
		socket.stats.calls++
		verdict := socket.judge(b, slot, errno)
		switch {
		case verdict == sendBlocked:
			return false
		case errno == 0:
			b.sentOne(socket, slot, length, result)
		case verdict == sendGiveUp:
			socket.stats.dropped++
			result.dropped++
			b.finishOne(slot)
		}
	}
	return true
}

// sentOne accounts for a packet that went out by itself. That it did shows that the
// segmentation was what the kernel refused, so the socket does without from now on.
// A message that is too big for the kernel's fragments says nothing about the next.
func (b *txBatch) sentOne(socket *txSocket, slot *txSlot, length int, result *flushResult) {
	if slot.refusal != 0 && slot.refusal != unix.EMSGSIZE && socket.gso {
		socket.gso = false
		socket.stats.gsoRefused++
		socket.stats.lastErr = slot.refusal
	}
	socket.stats.messages++
	socket.stats.packets++
	socket.stats.bytes += uint64(length)
	result.sent++
	b.finishOne(slot)
}

// finishOne steps to the next packet of a split message.
func (b *txBatch) finishOne(slot *txSlot) {
	slot.done++
	slot.retried = false
	b.queued--
}

// cut writes into dst the pieces that hold length bytes of src from start on, and
// returns their number.
func cut(dst, src []unix.Iovec, start, length int) (n int) {
	for i := range src {
		size := int(src[i].Len)
		if start >= size {
			start -= size
			continue
		}
		take := min(size-start, length)
		dst[n].Base = (*byte)(unsafe.Add(unsafe.Pointer(src[i].Base), start))
		dst[n].SetLen(take)
		n++
		length -= take
		start = 0
		if length == 0 {
			break
		}
	}
	return n
}
