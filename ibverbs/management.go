//go:build ibverbs && linux && cgo

package ibverbs

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
	"github.com/braid-rdma/braid/wire"
)

// managementQP is queue pair 1, as far as a program can have one: the NIC's is the
// kernel's. It carries the same datagrams over a UDP socket, so that package cm, and
// what is built on it, connects two devices of this engine. The engine's lock guards it.
type managementQP struct {
	noPackets
	engine *engine
	cfg    transport.Config
	socket *net.UDPConn
	sink   verbs.Sink
	state  transport.State
	attr   transport.Attr
	recvs  workQueue
	done   []transport.Completion // of posts; Unlock delivers them
	packet []byte                 // scratch: what is sent
}

var _ transport.QP = (*managementQP)(nil)

// datagramMark begins each datagram. What follows is its payload, which is one MAD.
var datagramMark = []byte("braid\x00\x00\x01")

// newManagementQP binds the socket and starts to receive.
func (e *engine) newManagementQP(cfg transport.Config) (transport.QP, error) {
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	at := net.UDPAddrFromAddrPort(netip.AddrPortFrom(e.adapter.local, e.cfg.ManagementPort))
	socket, err := net.ListenUDP("udp", at)
	if err != nil {
		return nil, fmt.Errorf("ibverbs: queue pair 1, which is UDP port %d: %w", e.cfg.ManagementPort, err)
	}
	q := &managementQP{engine: e, cfg: cfg, socket: socket, recvs: newWorkQueue(cfg.RecvDepth)}
	e.watchers.Go(q.receive)
	return q, nil
}

// receive takes datagrams until the socket is closed.
func (q *managementQP) receive() {
	buffer := make([]byte, len(datagramMark)+transport.MaxMTU)
	for {
		n, from, err := q.socket.ReadFromUDPAddrPort(buffer)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if payload, ok := bytes.CutPrefix(buffer[:n], datagramMark); ok && err == nil {
			q.deliver(payload, from.Addr().Unmap())
		}
	}
}

// deliver places a datagram in the next receive; without one, or where it is too long for it, it is lost, as
// datagrams may be: whoever sends it is not known, and takes no receive.
func (q *managementQP) deliver(payload []byte, from netip.Addr) {
	q.engine.mu.Lock()
	defer q.engine.mu.Unlock()
	length := transport.GRHLength + len(payload)
	if q.recvs.len() == 0 || q.state < transport.RTR || q.state == transport.Err || room(q.recvs.at(q.recvs.head).spans) < length {
		return
	}
	r := q.recvs.take(q.recvs.head)
	c := transport.Completion{
		WRID: r.id, QPN: wire.ManagementQPN, Op: transport.OpRecv, Bytes: uint32(length),
		SrcQP: wire.ManagementQPN, Source: q.engine.addresses.Learn(from),
	}
	scatter(r.spans, make([]byte, transport.GRHLength), payload) // there is no network header to show
	q.sink.Deliver(&c)
}

// room is how many bytes spans have; none where their memory was deregistered.
func room(spans []transport.Span) (n int) {
	for _, s := range spans {
		if s.Region.Invalid {
			return 0
		}
		n += int(s.Length)
	}
	return n
}

// scatter copies parts, one after the other, to spans, which have room for them.
func scatter(spans []transport.Span, parts ...[]byte) {
	rest := bytes.Join(parts, nil)
	for _, s := range spans {
		rest = rest[copy(s.Bytes(), rest):]
	}
}

// Number implements transport.QP.
func (q *managementQP) Number() wire.QPN { return wire.ManagementQPN }

// State implements transport.QP.
func (q *managementQP) State() transport.State { return q.state }

// Attr implements transport.QP.
func (q *managementQP) Attr() transport.Attr { return q.attr }

// Blocked implements transport.QP: a datagram is sent as it is posted.
func (q *managementQP) Blocked(transport.Time) transport.Reason { return transport.ReasonNoWork }

// Modify implements transport.QP.
func (q *managementQP) Modify(_ transport.Time, to transport.State, attr *transport.Attr) error {
	if !q.state.MayMove(to) || to == transport.SQD {
		return fmt.Errorf("%w: %v to %v", transport.ErrState, q.state, to)
	}
	if attr != nil {
		q.attr = *attr
	}
	q.state = to
	switch to {
	case transport.Reset:
		q.recvs.clear()
		q.attr, q.done = transport.Attr{}, nil
	case transport.Err:
		for q.recvs.len() > 0 {
			q.complete(q.recvs.take(q.recvs.head).id, transport.OpRecv, transport.WRFlushErr)
		}
	}
	return nil
}

// complete notes a completion, for Unlock to deliver.
func (q *managementQP) complete(id uint64, op transport.Op, status transport.Status) {
	q.done = append(q.done, transport.Completion{WRID: id, QPN: wire.ManagementQPN, Op: op, Status: status})
}

// flush takes a request in the error state, as far as there is room for its completion.
func (q *managementQP) flush(id uint64, op transport.Op) error {
	if len(q.done) >= q.cfg.SendDepth+q.cfg.RecvDepth {
		return transport.ErrQueueFull
	}
	q.complete(id, op, transport.WRFlushErr)
	return nil
}

// PostSend implements transport.QP. What the socket does not take is lost, as datagrams
// may be.
func (q *managementQP) PostSend(_ transport.Time, wr *transport.SendWR) error {
	length, err := q.cfg.CheckSend(wr)
	if err != nil {
		return err
	}
	to, known := q.engine.addresses.Addr(wr.AH)
	switch {
	case wr.Op != transport.OpSend:
		return fmt.Errorf("%w: %v", transport.ErrOperation, wr.Op)
	case length > transport.MaxMTU:
		return fmt.Errorf("%w: %d bytes", transport.ErrTooLong, length)
	case q.state < transport.RTS:
		return fmt.Errorf("%w: %v", transport.ErrState, q.state)
	case !known:
		return fmt.Errorf("%w: %d", verbs.ErrAddress, wr.AH)
	case q.state == transport.Err:
		return q.flush(wr.ID, wr.Op)
	}
	q.packet = append(append(q.packet[:0], datagramMark...), wr.Inline...)
	for _, s := range wr.SGEs {
		if s.Length > 0 {
			q.packet = append(q.packet, s.Bytes()...)
		}
	}
	_, _ = q.socket.WriteToUDPAddrPort(q.packet, netip.AddrPortFrom(to, q.engine.cfg.ManagementPort))
	if q.cfg.SignalAll || wr.Flags&transport.Signaled != 0 {
		q.complete(wr.ID, wr.Op, transport.Success)
	}
	return nil
}

// PostRecv implements transport.QP.
func (q *managementQP) PostRecv(wr *transport.RecvWR) error {
	if _, err := q.cfg.CheckRecv(wr); err != nil {
		return err
	}
	switch {
	case q.state == transport.Reset:
		return fmt.Errorf("%w: %v", transport.ErrState, q.state)
	case q.state == transport.Err:
		return q.flush(wr.ID, transport.OpRecv)
	case q.recvs.full():
		return transport.ErrQueueFull
	}
	r := q.recvs.push(wr.ID, transport.OpRecv, true, 0)
	for _, s := range wr.SGEs {
		if s.Length > 0 {
			r.spans = append(r.spans, s)
		}
	}
	return nil
}

// PollCompletion implements transport.QP.
func (q *managementQP) PollCompletion(c *transport.Completion) bool {
	if len(q.done) == 0 {
		return false
	}
	*c, q.done = q.done[0], q.done[1:]
	return true
}

// PollEvent implements transport.QP: there are none.
func (q *managementQP) PollEvent(*transport.Event) bool { return false }

// attach names the receiver of what the queue pair reports.
func (q *managementQP) attach(sink verbs.Sink) { q.sink = sink }

// destroy ends the queue pair. Its goroutine may still have a datagram, which it drops.
func (q *managementQP) destroy() {
	q.state = transport.Err
	_ = q.socket.Close() // nothing was written that could be lost
}
