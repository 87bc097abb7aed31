package transport

import "github.com/braid-rdma/braid/wire"

// requester is the sending half of an RC queue pair. Three packet numbers
// describe it:
//
//	una ≤ cursor ≤ nxt
//
// Everything before una is acknowledged or responded to. Everything before nxt was
// transmitted at least once, so only responses in [una, nxt) are believed. cursor
// is what to transmit next: it equals nxt, except after a loss, when it goes
// back to una and all from there is transmitted again (go-back-N; with
// go-back-0 una itself goes back, to the first packet of its message).
//
// A READ takes the packet numbers of its response. A long one is asked for in
// pieces, each a READ request of its own on the wire, because a responder sends
// without a window: the size of what was asked for is the only limit on it.
type requester struct {
	una, cursor, nxt wire.PSN

	at          int // index in the send queue of the request at the cursor
	window      int // packets that may be in flight at most
	allowed     int // and at present; see narrow
	piece       uint32
	outstanding int // READ pieces and atomics asked for since the cursor last went back, without their response yet
	awaiting    int // READ and atomic requests started and not complete

	retries    uint8 // since the last progress
	rnrRetries uint8
	// wentBack says that a NAK, explicit or implied, made the cursor go back to the
	// present una. A responder sends one for each gap, so another NAK for the
	// same packet is an echo of the network and must not use up a retry.
	wentBack bool
}

// defaultWindow is the number of packets in flight where Attr.Window says
// nothing: 1 MiB at the largest MTU, which default socket buffers still take.
const defaultWindow = 256

// maxPieces is how many pieces of a READ fill the window, at most: enough that
// the responder starts one while the others travel.
const maxPieces = 4

func (r *requester) start(a *Attr) {
	window := a.Window
	if window == 0 {
		window = defaultWindow
	}
	pieces := min(max(a.Reads, 1), maxPieces)
	*r = requester{
		una: a.SendPSN, cursor: a.SendPSN, nxt: a.SendPSN,
		window: window, allowed: window,
		piece: uint32(max(1, window/pieces)),
	}
}

// inFlight is the number of packets transmitted since the cursor last went
// back, or to be expected as responses to them.
func (r *requester) inFlight() int { return r.cursor.Sub(r.una) }

// narrow halves the packets in flight because some have to be sent again. What
// was lost to a full queue would be lost to it again; a loss that keeps step with
// the window must fall out of step; and where the network reorders packets, each
// gap costs all that is in flight behind it. It goes down to one packet: a link that
// loses every fifth would take the acknowledgement of four each time.
func (r *requester) narrow() {
	r.allowed = max(1, r.allowed/2)
}

// widen allows one packet more for each that was acknowledged: the window is
// back within a round trip once nothing is lost, and stays narrow while a round
// trip brings only a few packets forward.
func (r *requester) widen(acknowledged int) {
	r.allowed = min(r.window, r.allowed+acknowledged)
}

// offset is the distance from the first packet of the request to psn. It is
// unsigned: a message of 2^31 bytes at the smallest MTU has more packets than
// a signed distance can hold.
func (w *sendWQE) offset(psn wire.PSN) uint32 { return uint32(psn-w.psn) & wire.PSNMask }

// pieceEnd is the offset after the last packet of the READ piece that offset
// belongs to. Pieces lie at fixed places in a request, so a piece that is asked
// for again from its middle ends where it did before.
func (r *requester) pieceEnd(w *sendWQE, offset uint32) uint32 {
	return min((offset/r.piece+1)*r.piece, w.packets)
}

// transmitRequest yields the packet at the cursor, if there is one and nothing
// holds it back.
func (q *RC) transmitRequest(now Time, p *Packet) bool {
	if !q.state.sends() || q.timers.armed(rcRNRTimer) {
		return false
	}
	r := &q.req
	if r.at == q.sq.started && !q.mayStart() {
		return false
	}
	w := q.sq.wqes.at(r.at)
	if anyInvalid(w.SGEs) {
		// Earlier requests complete first: completions come in posting order.
		if r.at == 0 {
			q.fail(LocProtErr)
		}
		return false
	}
	if !w.started {
		w.packets = q.packetsOf(w)
		w.psn = r.cursor
	}
	if !q.windowOpen(w) || !q.paceOpen(now) {
		return false
	}
	if !w.started {
		q.takeOverFromKeepalive()
		w.started = true
		q.sq.started++
		if w.Op.awaitsResponse() {
			r.awaiting++
		}
	}
	q.transmitAtCursor(p, w)
	q.paced(now, p)
	if timeout := q.ackTimeout(); timeout != 0 && !q.timers.armed(rcAckTimer) {
		q.timers.arm(rcAckTimer, now+timeout)
	}
	return true
}

// mayStart says whether the next request that was not started may begin.
func (q *RC) mayStart() bool {
	if q.state != RTS || !q.sq.pending() {
		return false
	}
	// A fenced request waits until all READs and atomics before it are complete
	// (IBTA 10.8.3).
	fenced := q.sq.wqes.at(q.sq.started).Flags&(Fence|Synchronise) != 0
	return !fenced || q.req.awaiting == 0
}

func (q *RC) packetsOf(w *sendWQE) uint32 {
	if w.Op.isAtomic() {
		return 1
	}
	return packetsFor(w.length, q.attr.MTU)
}

// windowOpen says whether the packet at the cursor, and the responses it asks
// for, fit into the window and into the depth agreed for READs and atomics.
func (q *RC) windowOpen(w *sendWQE) bool {
	r := &q.req
	if !w.Op.awaitsResponse() {
		return r.inFlight() < r.allowed
	}
	if r.outstanding >= q.attr.Reads {
		return false
	}
	offset := w.offset(r.cursor)
	span := int(r.pieceEnd(w, offset) - offset)
	return r.inFlight() == 0 || r.inFlight()+span <= r.allowed
}

// transmitAtCursor fills in the packet at the cursor and moves the cursor on.
func (q *RC) transmitAtCursor(p *Packet, w *sendWQE) {
	r := &q.req
	offset := w.offset(r.cursor)
	taken := q.fillRequest(p, w, offset)
	if r.cursor.Before(r.nxt) {
		q.count.Retransmitted++
	}
	r.cursor = r.cursor.Add(int(taken))
	if r.nxt.Before(r.cursor) {
		r.nxt = r.cursor
	}
	if offset+taken == w.packets {
		r.at++
	}
}

// fillRequest writes the packet of a request at an offset and returns how many
// packet numbers it takes.
func (q *RC) fillRequest(p *Packet, w *sendWQE, offset uint32) uint32 {
	switch {
	case w.Op == OpRead:
		return q.fillRead(p, w, offset)
	case w.Op.isAtomic():
		q.fillAtomic(p, w)
	default:
		q.fillSegment(p, w, offset)
	}
	return 1
}

// fillSegment writes one packet of a SEND or WRITE.
func (q *RC) fillSegment(p *Packet, w *sendWQE, offset uint32) {
	mtu := uint32(q.attr.MTU)
	done := offset * mtu
	n := min(mtu, w.length-done)
	p.Length = int(n)
	p.Spans = appendSlice(p.Spans[:0], w.SGEs, done, n)

	last := offset+1 == w.packets
	q.fillBTH(p, segments[w.Op].opcode(offset, w.packets), q.req.cursor)
	p.AckReq = last || q.cfg.RC.Notices == NoticesInAcks || q.req.wantsAck()
	// The solicited event belongs to the packet that completes the receive (IBTA 9.2.3).
	p.Solicited = last && w.Op.consumesReceive() && w.Flags&Solicited != 0
	p.RETH = wire.RETH{VA: w.RemoteAddr, RKey: w.RKey, Length: w.length}
	p.Imm = wire.ImmDt(w.Imm)
	p.IETH.RKey = w.RKey
}

// wantsAck says whether the packet at the cursor asks for an acknowledgement in
// the middle of a message: often enough that the window moves before it is
// used up, and always when nothing can follow until it moves.
func (r *requester) wantsAck() bool {
	quarter := wire.PSN(max(1, r.window/4))
	return r.cursor%quarter == 0 || r.inFlight()+1 >= r.allowed
}

// fillRead writes a READ request for what is left of the piece at offset. The
// rest of a response is asked for as a READ of its own, at the address and
// packet number of the first byte that is missing (IBTA 9.7.5.1, retried READs).
func (q *RC) fillRead(p *Packet, w *sendWQE, offset uint32) uint32 {
	mtu := uint32(q.attr.MTU)
	end := q.req.pieceEnd(w, offset)
	from := offset * mtu
	length := w.length - from
	if end < w.packets {
		length = (end - offset) * mtu
	}
	p.Length, p.Spans = 0, p.Spans[:0]
	q.fillBTH(p, wire.ReadRequest, q.req.cursor)
	p.RETH = wire.RETH{VA: w.RemoteAddr + uint64(from), RKey: w.RKey, Length: length}
	if offset%q.req.piece != 0 {
		w.arrived = offset
	}
	q.req.outstanding++
	return end - offset
}

func (q *RC) fillAtomic(p *Packet, w *sendWQE) {
	op := wire.CompareSwap
	if w.Op == OpFetchAdd {
		op = wire.FetchAdd
	}
	p.Length, p.Spans = 0, p.Spans[:0]
	q.fillBTH(p, op, q.req.cursor)
	p.AtomicETH = wire.AtomicETH{VA: w.RemoteAddr, RKey: w.RKey, SwapAdd: w.SwapAdd, Compare: w.Compare}
	q.req.outstanding++
}

// goBack makes the oldest packet without a response the next to be transmitted. The
// acknowledgement timer starts again with that transmission, so that time spent
// waiting for the engine does not count as silence of the peer.
func (q *RC) goBack() {
	r := &q.req
	r.cursor, r.at, r.outstanding = r.una, 0, 0
	q.timers.disarm(rcAckTimer)
}
