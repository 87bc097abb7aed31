package udp

import (
	"io"
	"net/netip"
	"strconv"

	"github.com/braid-rdma/braid/internal/pcapng"
	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/wire"
)

// capture writes what passes through the engine to Config.Capture. Everything
// beside the writer is scratch space, so that a packet allocates nothing.
type capture struct {
	writer   *pcapng.Writer
	record   pcapng.Packet
	datagram pcapng.Datagram
	pieces   [][]byte
	ip       []byte
	comment  []byte
	headers  wire.Headers // of a packet that arrived
}

// startCapture begins the capture that the configuration asks for.
func (e *engine) startCapture(out io.Writer) {
	if out == nil {
		return
	}
	writer, err := pcapng.NewWriter(out)
	if err != nil {
		e.stats.CaptureErrors++
		return
	}
	e.capture = &capture{
		writer:  writer,
		pieces:  make([][]byte, 0, maxPacketPieces+2),
		ip:      make([]byte, 0, pcapng.MaxPacket),
		comment: make([]byte, 0, pcapng.MaxComment),
	}
}

// captureSent records the packet that encode has just added to the batch: head,
// the spans of the payload, and tail. segment is the IP identification that its
// ICRC covers. The flow is the one that encode used.
func (e *engine) captureSent(packet *transport.Packet, segment int, head, tail []byte) {
	c := e.capture
	c.pieces = append(c.pieces[:0], head)
	for _, span := range packet.Spans {
		c.pieces = append(c.pieces, span.Bytes())
	}
	c.pieces = append(c.pieces, tail)
	c.datagram = pcapng.Datagram{
		Src: netip.AddrPortFrom(e.flow.src, e.flow.sport),
		Dst: netip.AddrPortFrom(e.flow.dst, e.flow.dport),
		TOS: e.cfg.DSCP<<2 | ecnECT0,
	}
	if !packet.Opcode.IsMP() {
		c.datagram.ID = uint16(segment)
	}
	c.describe(&packet.Headers)
	e.writeCapture(pcapng.Outbound)
}

// captureReceived records a datagram as it came from the socket, before
// anything is checked: what is damaged or misdirected is what a reader of the
// capture looks for. A socket does not show the DSCP and the time to live.
func (e *engine) captureReceived(a *address, b []byte, m *rxMessage) {
	c := e.capture
	c.pieces = append(c.pieces[:0], b)
	c.datagram = pcapng.Datagram{
		Src: m.src,
		Dst: netip.AddrPortFrom(a.ip, e.cfg.Port),
		TOS: m.ecn,
	}
	c.comment = c.comment[:0]
	if len(b) >= wire.BTHLen+wire.ICRCLen {
		if _, err := wire.ParseHeaders(b[:len(b)-wire.ICRCLen], &c.headers); err == nil {
			c.datagram.ID = e.arrivalID(a.ip, b, m.src, c.headers.Opcode)
			c.describe(&c.headers)
		}
	}
	e.writeCapture(pcapng.Inbound)
}

// arrivalID works out the IP identification of a packet that arrived, which the
// socket does not show, from the ICRC that covers it. It is 0 where the ICRC
// does not tell: in IPv6, in multi-path packets, which mask it, and in packets
// that no identification makes right.
func (e *engine) arrivalID(local netip.Addr, b []byte, src netip.AddrPort, op wire.Opcode) uint16 {
	if op.IsMP() || !local.Is4() || !src.Addr().Is4() {
		return 0
	}
	f := flow{src: src.Addr(), dst: local, sport: src.Port(), dport: e.cfg.Port}
	body := b[:len(b)-wire.ICRCLen]
	sum := f.prefix(len(b), 0).Headers(body[:wire.BTHLen]).Payload(body[wire.BTHLen:]).Sum()
	id, ok := wire.ICRCMatchID(sum^wire.ICRCAt(b), len(b))
	if !ok {
		return 0
	}
	return id
}

// describe writes the comment of a multi-path packet: analysers do not know the
// private opcodes, nor where to find the virtual path. An acknowledgement has
// the path of the packets that it acknowledges.
func (c *capture) describe(h *wire.Headers) {
	c.comment = c.comment[:0]
	path, ok := h.VirtualPath()
	if !ok {
		return
	}
	c.comment = append(c.comment, h.Opcode.String()...)
	c.comment = append(c.comment, ", virtual path "...)
	c.comment = strconv.AppendUint(c.comment, uint64(path), 10)
}

// writeCapture writes the packet that the scratch space describes. A packet
// that cannot be described is left out; an error of the writer, such as a full
// disk, ends the capture. Both are counted, and neither disturbs the traffic.
func (e *engine) writeCapture(direction pcapng.Direction) {
	c := e.capture
	ip, err := c.datagram.Append(c.ip[:0], c.pieces...)
	clear(c.pieces) // the payload must not be kept from the garbage collector
	if err != nil {
		e.stats.CaptureErrors++
		return
	}
	// Counting on from the start of the program keeps the times in order even if
	// the system's clock is set meanwhile.
	c.record = pcapng.Packet{
		Time: start.UnixNano() + int64(e.Now()), Data: ip, Direction: direction, Comment: c.comment,
	}
	if err := c.writer.WritePacket(&c.record); err != nil {
		e.stats.CaptureErrors++
		e.capture = nil
	}
}
