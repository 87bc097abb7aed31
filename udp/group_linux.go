package udp

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// group is the devices, of one process or of many, that have one address. Each has a socket of its own at the
// address's port, which the kernel gives the packets for queue pairs of the device's part of the numbers.
// One device leads: it lets others in, and reads the socket of queue pair 1, of which it hands over what
// is for others.
//
// The kernel knows sockets by their place in the order in which they were bound, and moves the last to
// the place of one that is closed. So every member holds all of them, and none is closed as long as one member
// lives; the seat of a member that is gone is the next one's. When the leader is gone, the member
// that first takes its name leads: it has the socket of queue pair 1, with what has come meanwhile.
type group struct {
	at   netip.AddrPort
	part part
	opt  rxOptions

	engine  *engine // from start on, as addr
	addr    *address
	crowded atomic.Bool // there are other members
	kinOnly bool        // it is for the loops of one device

	// mu is taken after the engine's lock, where both are, and held for no longer than system calls that do
	// not wait.
	mu       sync.Mutex
	self     holder
	life     int // the socket of that name; -1: none yet
	seat     int
	seats    []seat // none: nobody else ever was here
	limit    int    // of seats
	listener *net.UnixListener
	leader   *groupConn     // nil: this device
	services map[uint64]int // by service: the seat of who serves it; of a member, only its own
	conns    map[*groupConn]bool
	closed   bool
	closing  chan struct{}  // closed with the group
	running  sync.WaitGroup // its goroutines

	asking  sync.Mutex        // one question at a time
	replies chan groupMessage // of the leader
}

// seat is a socket of the group, and whose it is.
type seat struct {
	fd     int
	holder holder
	conn   *groupConn // to the member; nil: it is this device, or one that is gone or is to come back
}

// holder is the device that has a seat.
type holder struct {
	Part int    `json:"part"` // noPart: nobody
	Life uint64 `json:"life"` // the name that it has as long as it is in the group
}

// nobody is the holder of the socket of queue pair 1.
var nobody = holder{Part: noPart}

// lives says whether the holder of a seat is still in the group. Its part does not tell: another device may have it by now.
func (h holder) lives() bool { return h.Part != noPart && nameTaken(lifeName(h.Life)) }

func lifeName(life uint64) string { return fmt.Sprintf("@braid/life/%x", life) }

const (
	// The first two seats are those of the device that opened the address, and of queue pair 1.
	firstSeat, managementSeat = 0, 1

	maxSeats = parts + 1
	noPart   = -1
)

func makeGroup(at netip.AddrPort, p part, opt rxOptions) *group {
	return &group{
		at: at, part: p, opt: opt, limit: maxSeats, self: holder{p.number, rand.Uint64()}, life: -1, services: make(map[uint64]int), conns: make(map[*groupConn]bool),
		closing: make(chan struct{}), replies: make(chan groupMessage, 1),
	}
}

// newGroup makes an address one that others may join; nil if they may not.
func newGroup(at netip.AddrPort, p part, opt rxOptions, services []uint64) *group {
	if p.number < 0 {
		return nil
	}
	listener, err := net.ListenUnix("unixpacket", groupName(at))
	if err != nil {
		return nil // somebody has the name: then devices here do not share
	}
	g := makeGroup(at, p, opt)
	g.listener = listener
	for _, s := range services {
		g.services[s] = firstSeat
	}
	return g
}

// keep notes a connection, so that it is closed with the group; false if that is closed.
func (g *group) keep(conn *groupConn) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		_ = conn.Close()
		return false
	}
	g.conns[conn] = true
	return true
}

// drop closes a connection.
func (g *group) drop(conn *groupConn) {
	_ = conn.Close()
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.conns, conn)
}

// live takes the name that tells others that the device is in the group, once.
func (g *group) live() (err error) {
	if g.life < 0 {
		g.life, err = bindName(lifeName(g.self.Life))
	}
	return err
}

// holders lists who has which seat.
func (g *group) holders() (holders []holder) {
	for i := range g.seats {
		holders = append(holders, g.seats[i].holder)
	}
	return holders
}

// sockets lists the sockets by seat.
func (g *group) sockets() (files []int) {
	for i := range g.seats {
		files = append(files, g.seats[i].fd)
	}
	return files
}

// socketOf returns the socket of a seat, as one that its owner closes.
func (g *group) socketOf(i int) (*rxSocket, error) {
	fd, err := unix.FcntlInt(uintptr(g.seats[i].fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, explainFile("take a socket of the group", err)
	}
	opt := g.opt
	if i == managementSeat {
		opt.rcvbuf = managementBuffer
	}
	return rxOf(fd, opt)
}

// start lets others join an address, or follows who leads there.
func (a *address) start(e *engine) {
	g := a.group
	if g == nil {
		return
	}
	g.engine, g.addr = e, a
	if listener := g.listener; listener != nil {
		g.running.Go(func() { g.lead(listener) })
	} else {
		g.running.Go(g.follow)
	}
}

// close leaves the group. Its goroutines end soon, those that want the engine's lock when they have had it.
func (g *group) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return
	}
	g.closed = true
	close(g.closing)
	if g.listener != nil {
		_ = g.listener.Close()
	}
	for conn := range g.conns {
		_ = conn.Close()
	}
	closeAll(g.sockets())
	g.seats = nil
	if g.life >= 0 {
		_ = unix.Close(g.life)
	}
}

// pause waits; false if the group was closed.
func (g *group) pause(d time.Duration) bool {
	select {
	case <-g.closing:
		return false
	case <-time.After(d):
		return true
	}
}

// others is how many loops of other devices have the address, as far as is known.
func (g *group) others() (n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := range g.seats {
		if !slices.Contains(g.engine.kin, g.seats[i].holder.Part) && g.seats[i].holder.Part != noPart && (g.leader != nil || g.seats[i].conn != nil) {
			n++
		}
	}
	return n
}

func (e *engine) groups() (groups []*group) {
	for _, a := range e.addrs {
		if a.group != nil {
			groups = append(groups, a.group)
		}
	}
	return groups
}
