package udp

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"time"

	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
	"github.com/braid-rdma/braid/wire"
)

// The packets of a queue pair may leave by another way than the sockets (verbs.Detour). They
// are the same packets, with the ICRC that they would have from port to port, and
// what comes back that way is checked as if a socket had brought it.

var _ verbs.Detour = (*engine)(nil)

// probeZeros is the payload of a probe, but for the number of its path in the first two bytes.
var probeZeros [transport.MaxMPMTU]byte

// portAt is the port of a connected queue pair.
func (e *engine) portAt(qp transport.QP) (*port, error) {
	p := e.ports[qp.Number()]
	if p == nil || p.peer == nil {
		return nil, fmt.Errorf("udp: %w: queue pair %v is not connected", verbs.ErrState, qp.Number())
	}
	return p, nil
}

// Divert implements verbs.Detour.
func (e *engine) Divert(qp transport.QP, way verbs.Way) error {
	p, err := e.portAt(qp)
	if err == nil {
		p.way = way
		p.silence.Begin()
	}
	return err
}

// Watch implements verbs.Detour.
func (e *engine) Watch(qp transport.QP, w verbs.NetworkWatcher) error {
	p, err := e.portAt(qp)
	if err == nil {
		p.watcher = w
		p.silence.Begin()
	}
	return err
}

// StreamAddr implements verbs.Detour.
func (e *engine) StreamAddr() netip.Addr {
	if e.anywhere() {
		return netip.IPv6Unspecified()
	}
	return e.own.ip
}

// divert hands a packet to the way of its queue pair, in one piece.
func (e *engine) divert(p *port, packet *transport.Packet) {
	b := packet.Headers.Append(e.detour[:0])
	headers := len(b)
	for _, span := range packet.Spans {
		b = append(b, span.Bytes()...)
	}
	for range wire.PadLen(packet.Length) {
		b = append(b, 0)
	}
	e.flow = flow{src: p.peer.at.ip, dst: p.peer.addr, sport: e.cfg.Port, dport: e.cfg.Port}
	end, id := len(b), uint16(0)
	if p.mp {
		id = wire.MPIdentification
	}
	b = wire.AppendICRC(b, e.flow.prefix(end+wire.ICRCLen, id).Whole(b).Sum())
	e.detour = b
	e.stats.PacketsDiverted++
	if e.capture != nil {
		e.captureSent(packet, 0, b[:headers], b[headers+packet.Length:])
	}
	p.way.Carry(b)
}

// Inject implements verbs.Detour.
func (e *engine) Inject(qp transport.QP, packets [][]byte) error {
	p, err := e.portAt(qp)
	if err != nil {
		return err
	}
	now := e.Now()
	e.packet.Marked = false
	e.arrivals.packet = now
	m := rxMessage{src: netip.AddrPortFrom(p.peer.addr, e.cfg.Port)}
	for _, b := range packets {
		e.stats.PacketsInjected++
		if e.capture != nil {
			e.captureReceived(p.peer.at, b, &m)
		}
		payload, ok := e.parse(b)
		if !ok {
			continue
		}
		if e.packet.DestQP != qp.Number() || e.packet.Opcode == wire.NetworkProbe {
			e.stats.WrongSource++
			continue
		}
		if e.admits(p, p.peer.at, &m) && e.whole(p.peer.at, b, &m, 0) {
			e.handOver(now, p, payload)
		}
	}
	return nil
}

// probeCopies is how many source ports of a multi-path connection a probe leaves by, since some
// of its paths may be dead while it goes on.
const probeCopies = 4

// Probe implements verbs.Detour.
func (e *engine) Probe(qp transport.QP, number uint32) error {
	p, err := e.portAt(qp)
	if err != nil {
		return err
	}
	if !p.mp {
		e.sendProbe(p, p.path, number)
	} else {
		for i := range min(probeCopies, e.cfg.Paths) {
			e.sendProbe(p, (int(number)*probeCopies+i)%e.cfg.Paths, number)
		}
	}
	e.flush()
	return nil
}

func (e *engine) sendProbe(p *port, path int, number uint32) {
	if !e.batch.room() {
		e.flush()
	}
	if e.faults.drops(e, path) || !e.batch.room() {
		return // as any packet may be lost
	}
	attr := p.qp.Attr()
	zeros := probeZeros[:attr.MTU-2]
	bth := wire.BTH{Opcode: wire.NetworkProbe, MigReq: true, PKey: wire.DefaultPKey, DestQP: attr.RemoteQPN, PSN: wire.PSN(number & wire.PSNMask)}
	length := wire.BTHLen + attr.MTU + wire.ICRCLen
	segment, _ := e.batch.begin(path, p.peer.dst, partOf(p.qp.Attr().RemoteQPN), length)
	head := e.batch.header(wire.BTHLen)
	bth.Append(head[:0])
	sum := e.prefix(p.peer, path, false, length, segment).Headers(head)
	way := e.batch.header(2)
	binary.BigEndian.PutUint16(way, uint16(path))
	e.batch.payload(zeros)
	sum = sum.Payload(way).Payload(zeros)
	wire.AppendICRC(e.batch.header(wire.ICRCLen)[:0], sum.Sum())
}

// watchSilence follows a timeout of a queue pair.
func (e *engine) watchSilence(now transport.Time, p *port) {
	ackTimeout := verbs.AckTimeoutOf(int(p.qp.Attr().Timeout))
	c := p.qp.Counters()
	if p.silence.TimedOut(time.Duration(now), c.LocalAckTimeoutErr, c.PacketsSent+c.Keepalives, ackTimeout) {
		p.watcher.Silent()
	}
}
