package udp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/braid-rdma/braid/verbs"
)

// lead lets devices in.
func (g *group) lead(listener *net.UnixListener) {
	for {
		c, err := listener.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			g.pause(10 * time.Millisecond) // no files; they may be had again soon
			continue
		}
		conn := &groupConn{UnixConn: c}
		if !conn.sameUser() {
			_ = c.Close()
		} else if g.keep(conn) {
			g.running.Go(func() { g.serveMember(conn) })
		}
	}
}

// serveMember does what a member asks for until it is gone.
func (g *group) serveMember(conn *groupConn) {
	defer g.drop(conn)
	_ = conn.SetReadDeadline(time.Now().Add(groupPatience))
	kind, m, files, err := conn.nextMessage()
	if err != nil || kind != groupJoin {
		closeAll(files)
		return
	}
	_ = conn.SetReadDeadline(time.Time{})
	for end := time.Now().Add(groupPatience / 2); m.Seat < 0 && g.awaits() && time.Now().Before(end); {
		g.pause(time.Millisecond)
	}
	i, refusal := g.admit(conn, &m, files)
	if refusal != nil {
		conn.tell(groupRefusal, refusal)
		return
	}
	for {
		kind, body, files, err := conn.next()
		closeAll(files)
		if err != nil {
			break
		}
		if kind == groupPacket {
			g.route(body)
			continue
		}
		g.handle(conn, i, kind, body)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed && g.seats[i].conn == conn {
		g.seats[i].conn = nil
		for service, at := range g.services {
			if at == i {
				delete(g.services, service)
			}
		}
	}
}

// awaits says whether a device that lives has not come back yet, after the one that led was gone. It may have a socket
// that we do not know of, and so there is no telling which place a new one would have.
func (g *group) awaits() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := range g.seats {
		if s := &g.seats[i]; s.conn == nil && i != g.seat && s.holder.lives() {
			return true
		}
	}
	return false
}

// admit gives a device a seat, or refuses. The files are its sockets, if it has a seat already.
func (g *group) admit(conn *groupConn, m *groupMessage, files []int) (i int, refusal *groupMessage) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var err error
	fresh := -1
	switch {
	case m.Version != groupVersion || m.Self.Part < 0 || m.Self.Part >= parts:
		closeAll(files)
		err = errors.New("the device that leads there is of another version of braid")
	case g.kinOnly && !slices.Contains(g.engine.kin, m.Self.Part):
		closeAll(files)
		err = errors.New("the device that has it does not share it")
	case g.closed || g.assemble() != nil:
		closeAll(files)
		err = errors.New("the device that leads there closes, or has no files left")
	case m.Seat >= 0:
		i, err = g.returned(m, files)
	default:
		closeAll(files)
		i, fresh, err = g.seatNew(m)
	}
	if err != nil {
		return 0, &groupMessage{Refusal: err.Error(), Served: errors.Is(err, verbs.ErrServed)}
	}
	// The others first: should this process die now, they have the new socket.
	g.announce(i, fresh)
	g.seats[i].conn = conn
	for _, s := range m.Services {
		if _, taken := g.services[s]; !taken {
			g.services[s] = i
		}
	}
	g.crowded.Store(true)
	conn.tell(groupWelcome, &groupMessage{Seat: i, Holders: g.holders()}, g.sockets()...)
	return i, nil
}

// returned is the seat of a device that has it from a leader which is gone. Perhaps it has sockets that we were not sent.
func (g *group) returned(m *groupMessage, files []int) (i int, err error) {
	known := min(len(g.seats), len(files))
	closeAll(files[:known])
	for j := known; j < len(files); j++ {
		if len(g.seats) < min(len(m.Holders), maxSeats) {
			g.seats = append(g.seats, seat{fd: files[j], holder: m.Holders[j]})
		} else {
			_ = unix.Close(files[j])
		}
	}
	if m.Seat >= len(g.seats) || m.Seat == g.seat || g.seats[m.Seat].holder != m.Self {
		return 0, errors.New("the seat is another's")
	}
	return m.Seat, nil
}

// seatNew gives a new device a seat, and returns the socket if that is new.
func (g *group) seatNew(m *groupMessage) (i, fresh int, err error) {
	for _, s := range m.Services {
		if _, taken := g.services[s]; taken {
			return 0, -1, servedElsewhere(s)
		}
	}
	i, fresh = g.freeSeat(m.Self.Part), -1
	if i == len(g.seats) {
		if fresh, err = g.openSeat(); err != nil {
			return 0, -1, err
		}
		g.seats = append(g.seats, seat{fd: fresh})
	}
	g.seats[i].holder = m.Self
	if err = g.direct(); err != nil {
		g.seats[i].holder = nobody
	}
	return i, fresh, err
}

// assemble takes the seats of the device that opened the address, once.
func (g *group) assemble() error {
	if len(g.seats) > 0 {
		return nil
	}
	if err := g.live(); err != nil {
		return err
	}
	for _, fd := range []int{g.addr.rx.fd, g.addr.management.fd} {
		fd, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			closeAll(g.sockets())
			g.seats = nil
			return err
		}
		g.seats = append(g.seats, seat{fd: fd, holder: nobody})
	}
	g.seats[firstSeat].holder = g.self
	return nil
}

// freeSeat is that of a device which is gone, or else a new one. Where who asks has claimed the part of one that is
// gone it has its seat too, since a part has one.
func (g *group) freeSeat(part int) int {
	if i := slices.IndexFunc(g.seats, func(s seat) bool { return s.holder.Part == part }); i >= 0 && i != g.seat {
		return i
	}
	for i := range g.seats {
		s := &g.seats[i]
		if i != managementSeat && i != g.seat && s.conn == nil && !s.holder.lives() {
			return i
		}
	}
	return len(g.seats)
}

// openSeat opens one more socket at the address.
func (g *group) openSeat() (int, error) {
	if len(g.seats) >= g.limit {
		return -1, fmt.Errorf("%d devices have the address, and no more can", g.limit-1)
	}
	share := option{unix.SOL_SOCKET, unix.SO_REUSEPORT, 1}
	return openSocket(g.at, append(rxSocketOptions(g.at.Addr()), share)...)
}

// direct tells the kernel which packets are for which socket. What is for nobody's part goes to the first.
func (g *group) direct() error {
	compare := make([]uint32, 0, maxSeats)
	places := make([]uint32, 0, maxSeats)
	for i := range g.seats {
		if i != managementSeat && i != firstSeat && g.seats[i].holder.Part != noPart {
			compare, places = append(compare, uint32(g.seats[i].holder.Part)), append(places, uint32(i))
		}
	}
	return attachSelector(g.seats[firstSeat].fd, compare, places)
}

// announce tells the members who has which seat, and gives them a socket that is new.
func (g *group) announce(except, fresh int) {
	m := groupMessage{Seat: -1, Holders: g.holders()}
	for i := range g.seats {
		conn := g.seats[i].conn
		if conn == nil || i == except {
			continue
		}
		told := false
		if fresh >= 0 {
			told = conn.tell(groupTable, &m, fresh)
		} else {
			told = conn.tell(groupTable, &m)
		}
		if !told {
			_ = conn.Close() // it comes back, and is told then
		}
	}
}

// handle does what a member asks for.
func (g *group) handle(conn *groupConn, i int, kind byte, body []byte) {
	if len(body) != 8 {
		return
	}
	service := binary.BigEndian.Uint64(body)
	g.mu.Lock()
	defer g.mu.Unlock()
	at, taken := g.services[service]
	switch {
	case kind == groupServe && taken && at != i:
		conn.tell(groupRefusal, &groupMessage{Refusal: servedElsewhere(service).Error(), Served: true})
		return
	case kind == groupServe:
		g.services[service] = i
	case kind == groupUnserve && taken && at == i:
		delete(g.services, service)
	}
	conn.tell(groupServed, &groupMessage{})
}
