package udp

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// maxSegments is the most packets that one UDP_SEGMENT message may carry: 64 in
	// every kernel that has the option (128 in the newest).
	maxSegments = 64

	// maxMessage is the largest UDP payload over IPv4; IPv6 could take 20 bytes more.
	maxMessage = 65507

	// maxPacketPieces bounds the payload pieces of one packet, and maxPacketHeader the
	// bytes that one packet may take from the arena. A message accepts another packet only
	// while it has room for these.
	maxPacketPieces = 32
	maxPacketHeader = 256

	// A slot has room for 64 packets of two payload pieces each: the trailer of a packet
	// and the header of the next are neighbours in the arena and share a piece.
	slotPieces = 3*maxSegments + maxPacketPieces + 2
	slotArena  = 8 << 10

	defaultTxSlots = 64

	noSlot = -1
)

// txBatch gathers packets into messages and sends them. For each packet the caller
//
//   - calls begin, which says where in its message the packet will stand;
//   - calls header and payload, in the order of the bytes on the wire, until the length
//     announced to begin is reached. What header returns may be filled in until flush.
//
// Payload is not copied before the kernel does: it must stay unchanged until flush has
// sent it. The batch holds a reference to it for so long, and none afterwards. Packets
// to one destination on one path join a segmented message even if packets of other
// paths come in between; on a path the order of packets is kept.
//
// A batch belongs to one goroutine at a time, and allocates only when it is made.
type txBatch struct {
	pool    *txPool
	slots   []txSlot
	free    []int32   // slots not in use, the most recently used last because its memory is warm
	queues  []txQueue // by path
	active  []int32   // paths whose queue is not empty, in the order in which they became so
	queued  int       // packets in all queues
	current *txSlot   // the slot of the packet that is being added
	missing int       // bytes that the packet still lacks

	headers [sendChunk]mmsghdr     // what one system call sends
	single  [slotPieces]unix.Iovec // one packet out of a message that cannot be segmented
	scratch unix.Msghdr            // for reading error queues
	send    sendFunc
}

// txQueue is the chain of a path's messages that wait for flush.
type txQueue struct {
	head, tail int32
}

// txSlot is one message: a packet, or a run of packets of equal size of which the last
// may be shorter.
type txSlot struct {
	dst     *destination
	part    int // of the numbers of the queue pairs that it is for: another may have another socket at the peer
	segment int // bytes of every packet but the last
	bytes   int
	packets int
	done    int        // packets already sent, when split
	next    int32      // the next message of the path
	closed  bool       // takes no further packet
	split   bool       // to be sent packet by packet
	refusal unix.Errno // why it was split, or 0
	retried bool       // has met an error that may have belonged to an earlier message

	pieces      int
	used        int  // bytes of the arena
	endsInArena bool // the last piece is the newest part of the arena
	control     messageControl
	iovecs      [slotPieces]unix.Iovec
	arena       [slotArena]byte
}

// messageControl are the control messages of a message. The source address, if the
// kernel must be told, comes before the size of the segments.
type messageControl struct {
	source  [sourceRoom]byte
	segment segmentControl
}

// segmentControl is the control message that asks for segmentation.
type segmentControl struct {
	header unix.Cmsghdr
	size   uint16
	_      [6]byte
}

// describe points the kernel at the control messages that a message needs.
func (c *messageControl) describe(hdr *unix.Msghdr, source *sourceControl, segment int) {
	length := source.length
	copy(c.source[sourceRoom-length:], source.bytes[sourceRoom-length:])
	start := sourceRoom - length
	if segment > 0 {
		c.segment.size = uint16(segment)
		length += unix.CmsgSpace(2)
	}
	hdr.Control = nil
	if length > 0 {
		hdr.Control = (*byte)(unsafe.Add(unsafe.Pointer(c), start))
	}
	hdr.SetControllen(length)
}

// newTxBatch returns a batch that sends through pool and holds at most slots messages
// (0: the default).
func newTxBatch(pool *txPool, slots int) *txBatch {
	if slots <= 0 {
		slots = defaultTxSlots
	}
	b := &txBatch{
		pool:   pool,
		slots:  make([]txSlot, slots),
		free:   make([]int32, 0, slots),
		queues: make([]txQueue, len(pool.sockets)),
		active: make([]int32, 0, len(pool.sockets)),
		send:   sendmmsg,
	}
	for i := slots - 1; i >= 0; i-- {
		b.slots[i].control.segment.header.Level = unix.IPPROTO_UDP
		b.slots[i].control.segment.header.Type = unix.UDP_SEGMENT
		b.slots[i].control.segment.header.SetLen(unix.CmsgLen(2))
		b.free = append(b.free, int32(i))
	}
	for i := range b.queues {
		b.queues[i] = txQueue{head: noSlot, tail: noSlot}
	}
	return b
}

// begin opens a packet of length bytes to dst on a path, for a queue pair of a part of the numbers. It returns the index of the
// packet within its message, which is also the IP id that the packet will carry over
// IPv4. It returns false, and changes nothing, when the batch is full: flush, and if
// the kernel takes nothing, wait.
func (b *txBatch) begin(path int, dst *destination, part, length int) (segment int, ok bool) {
	b.checkComplete()
	if length <= 0 || length > maxMessage {
		panic(fmt.Sprintf("udp: a packet of %d bytes does not fit a datagram", length))
	}
	queue := &b.queues[path]
	if queue.tail != noSlot && b.pool.socket(path).gso && b.slots[queue.tail].accepts(dst, part, length) {
		b.current = &b.slots[queue.tail]
	} else if b.current = b.enqueue(int32(path), dst, part, length); b.current == nil {
		return 0, false
	}
	slot := b.current
	segment = slot.packets
	slot.packets++
	slot.bytes += length
	// Only the last packet of a segmented message may be shorter than the others.
	slot.closed = slot.closed || length < slot.segment
	b.queued++
	b.missing = length
	return segment, true
}

// enqueue opens a message at the end of the path's queue, or returns nil when there is
// no slot left.
func (b *txBatch) enqueue(path int32, dst *destination, part, length int) *txSlot {
	if len(b.free) == 0 {
		return nil
	}
	index := b.free[len(b.free)-1]
	b.free = b.free[:len(b.free)-1]
	queue := &b.queues[path]
	if queue.head == noSlot {
		queue.head = index
		b.active = append(b.active, path)
	} else {
		b.slots[queue.tail].next = index
	}
	queue.tail = index
	slot := &b.slots[index]
	slot.dst = dst
	slot.part = part
	slot.segment = length
	slot.next = noSlot
	return slot
}

// accepts says whether another packet may join the message.
func (s *txSlot) accepts(dst *destination, part, length int) bool {
	return s.dst == dst && s.part == part && !s.closed && length <= s.segment &&
		s.packets < maxSegments && s.bytes+length <= maxMessage &&
		s.pieces+maxPacketPieces+2 <= slotPieces && s.used+maxPacketHeader <= slotArena
}

// header adds n bytes of the batch's own memory to the packet and returns them, with
// whatever they held before: headers, small payloads, pad and ICRC go here.
func (b *txBatch) header(n int) []byte {
	slot := b.current
	space := slot.arena[slot.used : slot.used+n : slot.used+n]
	if n == 0 {
		return space
	}
	b.missing -= n
	// The pieces of the arena that follow each other are one piece for the kernel.
	if slot.endsInArena {
		last := &slot.iovecs[slot.pieces-1]
		last.SetLen(int(last.Len) + n)
	} else {
		slot.append(&space[0], n)
		slot.endsInArena = true
	}
	slot.used += n
	return space
}

// payload adds bytes of the caller's memory to the packet.
func (b *txBatch) payload(p []byte) {
	if len(p) == 0 {
		return
	}
	b.missing -= len(p)
	b.current.append(&p[0], len(p))
	b.current.endsInArena = false
}

// append adds one piece to the message.
func (s *txSlot) append(base *byte, n int) {
	piece := &s.iovecs[s.pieces]
	piece.Base = base
	piece.SetLen(n)
	s.pieces++
}

// checkComplete panics when the pieces of the last packet do not add up to its length:
// the kernel would cut all following packets of the message in wrong places.
func (b *txBatch) checkComplete() {
	if b.missing != 0 {
		panic(fmt.Sprintf("udp: the last packet's pieces differ from its announced length by %d bytes", b.missing))
	}
}

// backlog returns the number of packets that wait for flush.
func (b *txBatch) backlog() int { return b.queued }

// pop takes the first message off a path's queue and frees its slot.
func (b *txBatch) pop(queue *txQueue) {
	index := queue.head
	slot := &b.slots[index]
	queue.head = slot.next
	if queue.head == noSlot {
		queue.tail = noSlot
	}
	b.queued -= slot.packets - slot.done
	// Dropping the pieces drops the references to the caller's memory.
	clear(slot.iovecs[:slot.pieces])
	slot.dst = nil
	slot.bytes, slot.packets, slot.done, slot.pieces, slot.used = 0, 0, 0, 0, 0
	slot.closed, slot.split, slot.retried, slot.refusal = false, false, false, 0
	slot.endsInArena = false
	b.free = append(b.free, index)
}

// ripe says whether so many messages are queued and the latest of them is full.
func (b *txBatch) ripe(messages int) bool {
	slot := b.current
	return len(b.slots)-len(b.free) >= messages && !slot.accepts(slot.dst, slot.part, slot.segment)
}

// room says whether begin will succeed, whatever the packet.
func (b *txBatch) room() bool { return len(b.free) > 0 }
