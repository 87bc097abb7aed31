package udp

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"
)

// joinGroup takes a seat in the group of an address.
func joinGroup(at netip.AddrPort, p part, opt rxOptions, services []uint64) (*group, error) {
	if p.number < 0 {
		return nil, errors.New("this device shares no address: it was told not to, or others have all parts of the numbers")
	}
	g := makeGroup(at, p, opt)
	g.seat = -1
	g.crowded.Store(true)
	for _, s := range services {
		g.services[s] = -1
	}
	if err := g.rejoin(); err != nil {
		g.close()
		return nil, err
	}
	return g, nil
}

// rejoin enters the group of whoever leads it now.
func (g *group) rejoin() error {
	conn, err := dialGroup(g.at)
	if err == nil && !g.keep(conn) {
		err = net.ErrClosed
	}
	if err != nil {
		return err
	}
	if err = g.enter(conn); err != nil {
		g.drop(conn)
	}
	return err
}

// enter asks the leader for a seat, or says which one the device has.
func (g *group) enter(conn *groupConn) error {
	g.mu.Lock()
	if err := g.live(); err != nil {
		g.mu.Unlock()
		return err
	}
	m := groupMessage{Version: groupVersion, Self: g.self, Seat: g.seat, Holders: g.holders()}
	for s := range g.services {
		m.Services = append(m.Services, s)
	}
	sent := conn.tell(groupJoin, &m, g.sockets()...)
	g.mu.Unlock()
	if !sent {
		return errors.New("the device that leads there does not respond")
	}
	_ = conn.SetReadDeadline(time.Now().Add(groupPatience))
	kind, m, files, err := conn.nextMessage()
	_ = conn.SetReadDeadline(time.Time{})
	switch {
	case err != nil:
		return fmt.Errorf("the device that leads there does not respond: %w", err)
	case kind == groupRefusal:
		closeAll(files)
		return errors.New(m.Refusal)
	case kind != groupWelcome || len(m.Holders) != len(files) || m.Seat < 0 || m.Seat >= len(files):
		closeAll(files)
		return errors.New("the device that leads there does not make sense")
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		closeAll(files)
		return net.ErrClosed
	}
	closeAll(g.sockets())
	g.seats, g.seat, g.leader = nil, m.Seat, conn
	for i, fd := range files {
		g.seats = append(g.seats, seat{fd: fd, holder: m.Holders[i]})
	}
	return nil
}

// follow does what the leader says until it is gone, and then finds the next.
func (g *group) follow() {
	for {
		g.mu.Lock()
		conn := g.leader
		g.mu.Unlock()
		for g.heed(conn) {
		}
		g.drop(conn)
		g.reply(&groupMessage{}) // there will be no other
		if !g.succeed() {
			return
		}
	}
}

// heed takes one message of the leader; false when there is none any more.
func (g *group) heed(conn *groupConn) bool {
	kind, body, files, err := conn.next()
	if err != nil {
		return false
	}
	switch kind {
	case groupPacket:
		g.inject(body)
	case groupTable:
		var m groupMessage
		if unmarshal(body, &m) {
			g.takeTable(&m, files)
			return true
		}
	case groupServed, groupRefusal:
		var m groupMessage
		if unmarshal(body, &m) {
			g.reply(&m)
		}
	}
	closeAll(files)
	return true
}

// reply hands over what the leader replied to a question, unless nobody waits for it any more.
func (g *group) reply(m *groupMessage) {
	select {
	case g.replies <- *m:
	default:
	}
}

// takeTable notes who has which seat.
func (g *group) takeTable(m *groupMessage, files []int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed || len(m.Holders) != len(g.seats)+len(files) {
		closeAll(files)
		return
	}
	for _, fd := range files {
		g.seats = append(g.seats, seat{fd: fd})
	}
	for i := range g.seats {
		g.seats[i].holder = m.Holders[i]
	}
}

// succeed makes this device the leader, or a member of the next; false if it was closed.
func (g *group) succeed() bool {
	for pause := time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		if listener := g.candidacy(); listener != nil {
			if g.takeOver(listener) {
				g.lead(listener)
			}
			return false
		}
		if g.rejoin() == nil {
			return true
		}
		if !g.pause(pause) { // another has the name, and does not accept yet
			return false
		}
	}
}

// candidacy takes the name of who leads, if nobody has it. A further loop does not want it: its device's first loop is here
// too, and has the queue pair 1 that who leads needs.
func (g *group) candidacy() *net.UnixListener {
	if g.part.further {
		return nil
	}
	listener, err := net.ListenUnix("unixpacket", groupName(g.at))
	if err != nil {
		return nil
	}
	return listener
}

// takeOver makes this device the leader: it lets others in, and reads what comes for queue pair 1.
func (g *group) takeOver(listener *net.UnixListener) bool {
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		_ = listener.Close()
		return false
	}
	g.listener, g.leader = listener, nil
	for s := range g.services {
		g.services[s] = g.seat
	}
	g.mu.Unlock()
	if !g.takeManagement() {
		g.running.Go(func() {
			for g.pause(managementRetry) && !g.takeManagement() {
			}
		})
	}
	return true
}

// managementRetry is when to try again to read what comes for queue pair 1, after there was no file for it.
const managementRetry = 100 * time.Millisecond

// takeManagement reads what comes for queue pair 1; false if there is no file for it now.
func (g *group) takeManagement() bool {
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return true
	}
	management, err := g.socketOf(managementSeat)
	g.mu.Unlock()
	if err != nil {
		return false
	}
	g.engine.Lock()
	defer g.engine.Unlock()
	if g.engine.closed.Load() {
		_ = management.close()
		return true
	}
	g.addr.management = management
	g.engine.watchSockets()
	return true
}
