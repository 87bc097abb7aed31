package udp

import (
	"encoding/binary"

	"github.com/braid-rdma/braid/wire"
)

// elsewhere says whether a packet is for another device of the group, and if so brings it there. The
// kernel chooses the socket by the first packet of a run that it joined.
func (g *group) elsewhere(b []byte, m *rxMessage, index int) (handed, lost bool) {
	n := destQP(b)
	if n != wire.ManagementQPN && partOf(n) == g.part.number {
		return false, false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.leader != nil {
		return true, !g.leader.post(appendStray(nil, b, m, index))
	}
	conn, own := g.deviceOf(b)
	if own {
		return false, false
	}
	return true, conn == nil || !conn.post(appendStray(nil, b, m, index))
}

// route brings a packet that a member received to the device that it is for.
func (g *group) route(body []byte) {
	packet, _, _, ok := parseStray(body)
	if !ok || len(packet) < wire.BTHLen {
		return
	}
	g.mu.Lock()
	conn, own := g.deviceOf(packet)
	if conn != nil {
		conn.post(append([]byte{groupPacket}, body...))
	}
	g.mu.Unlock()
	if own {
		g.inject(body)
	}
}

// deviceOf returns the connection to the device that a packet is for, or that it is this one's: that has also what is
// for nobody, since it is for it to refuse. Both are missing for devices that are to come back, after the one that led
// was gone: what is for one of them is lost, and is sent again.
func (g *group) deviceOf(packet []byte) (conn *groupConn, own bool) {
	part := partOf(destQP(packet))
	if destQP(packet) == wire.ManagementQPN {
		part = g.addressee(packet[min(len(packet), wire.BTHLen+wire.DETHLen):])
	}
	if part == g.part.number {
		return nil, true
	}
	waited := false
	for i := range g.seats {
		s := &g.seats[i]
		if s.holder.Part == part && s.conn != nil {
			return s.conn, false
		}
		if s.conn != nil || i == g.seat || s.holder.Part != part && part != noPart {
			continue
		}
		if s.holder.lives() {
			waited = true
		} else {
			s.holder = nobody // and not asked for with each packet of a flood
		}
	}
	return nil, !waited
}

// inject takes a packet that came to another's socket.
func (g *group) inject(body []byte) {
	packet, m, index, ok := parseStray(body)
	if !ok {
		return
	}
	e := g.engine
	e.Lock()
	defer e.Unlock()
	if !e.closed.Load() && !e.died {
		defer e.contain()
		e.kicked = true
		e.packet.Marked = m.ecn == ecnMarked
		e.arrivals.packet = e.Now()
		e.handleOwn(e.Now(), g.addr, packet, &m, index)
	}
}

// addressee is the part of the device that a datagram for queue pair 1 is for, or noPart: a request by
// its service, and the other messages of the connection manager by the identifier that the
// device chose (IBTA 12.6).
func (g *group) addressee(datagram []byte) int {
	const (
		attributeAt, bodyAt       = 16, 24
		remoteIDAt, serviceAt     = bodyAt + 4, bodyAt + 8
		attributeREQ, shortestMAD = 0x0010, 256
	)
	if len(datagram) < shortestMAD {
		return noPart
	}
	if binary.BigEndian.Uint16(datagram[attributeAt:]) != attributeREQ {
		return int(binary.BigEndian.Uint32(datagram[remoteIDAt:]) >> (32 - partBits))
	}
	if i, ok := g.services[binary.BigEndian.Uint64(datagram[serviceAt:])]; ok && i < len(g.seats) {
		return g.seats[i].holder.Part
	}
	return noPart
}
