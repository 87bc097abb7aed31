package udp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// The devices of a group talk over Unix sockets that keep messages apart: a byte that says what
// it is, then JSON or a packet. Sockets of the group travel with the messages.

const (
	groupJoin    = 'j' // a member asks for a seat, or comes back with the one that it has
	groupWelcome = 'w' // it has it; with all sockets of the group
	groupRefusal = 'n' // or not
	groupTable   = 't' // who has which seat; with the socket that is new, if one is
	groupServe   = 's' // a member takes a service
	groupUnserve = 'u' // it gives one back
	groupServed  = 'y' // the leader has taken note of either
	groupPacket  = 'p' // a packet that came to another's socket
)

// groupMessage is what is not a packet.
type groupMessage struct {
	Version  int      `json:"version,omitempty"`  // groupVersion, of who joins
	Self     holder   `json:"self"`               // who joins
	Seat     int      `json:"seat"`               // that it has; -1: none yet
	Holders  []holder `json:"holders,omitempty"`  // by seat
	Services []uint64 `json:"services,omitempty"` // that the member serves
	Refusal  string   `json:"refusal,omitempty"`
	Served   bool     `json:"served,omitempty"` // refused because another has the service
}

const (
	// groupVersion is of the messages, of how many bits of a number are the part, and of how many seats there are.
	groupVersion = 2
	// groupPatience is how long a device waits for another of the same user to respond: it may have
	// lost the processor, or be stopped.
	groupPatience = 2 * time.Second
	// groupBuffer holds the longest message: a packet, and where it came from.
	groupBuffer = 64<<10 + 256
	// groupFiles is how many sockets a message brings at most.
	groupFiles = maxSeats
)

// errNoLeader: nobody has the name of a group.
var errNoLeader = errors.New("no device of braid has it")

// groupConn is the connection of two devices of a group.
type groupConn struct {
	*net.UnixConn
	pid    int32 // of the other end
	buffer [groupBuffer]byte
	rights [groupFiles*4 + 64]byte
}

// groupName is the abstract name under which the group of an address is found.
func groupName(addr netip.AddrPort) *net.UnixAddr {
	return &net.UnixAddr{Net: "unixpacket", Name: fmt.Sprintf("@braid/%d/at/%v", addr.Port(), addr.Addr())}
}

// dialGroup connects to the device that leads the group of an address.
func dialGroup(addr netip.AddrPort) (*groupConn, error) {
	c, err := net.DialUnix("unixpacket", nil, groupName(addr))
	if err != nil {
		return nil, errNoLeader
	}
	conn := &groupConn{UnixConn: c}
	switch {
	case !conn.sameUser():
		err = errors.New("another user has it")
	case stopped(conn.pid):
		err = fmt.Errorf("process %d has it and is stopped", conn.pid)
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// stopped says whether a process does not run, as after SIGSTOP. What cannot be seen, of another namespace perhaps, runs.
func stopped(pid int32) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, state, found := bytes.Cut(stat, []byte(") ")) // behind the name of the program
	return err == nil && found && len(state) > 0 && (state[0] == 'T' || state[0] == 't')
}

// sameUser says whether the other end is of the same user. Anybody can take a name, and whoever is in a
// group can read what its other members receive.
func (c *groupConn) sameUser() (same bool) {
	raw, err := c.SyscallConn()
	if err != nil {
		return false
	}
	_ = raw.Control(func(fd uintptr) {
		peer, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
		if err == nil {
			same, c.pid = int(peer.Uid) == os.Geteuid(), peer.Pid
		}
	})
	return same
}

// post sends a message if there is room for it.
func (c *groupConn) post(b []byte, files ...int) bool {
	raw, err := c.SyscallConn()
	if err != nil {
		return false
	}
	var rights []byte
	if len(files) > 0 {
		rights = unix.UnixRights(files...)
	}
	sent := errors.New("not sent")
	_ = raw.Write(func(fd uintptr) bool {
		sent = unix.Sendmsg(int(fd), b, rights, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
		return true // never wait: the caller may hold the engine's lock
	})
	return sent == nil
}

// tell is post for what is not a packet.
func (c *groupConn) tell(kind byte, m *groupMessage, files ...int) bool {
	b, err := json.Marshal(m)
	return err == nil && c.post(append([]byte{kind}, b...), files...)
}

// next waits for a message. What it returns is valid until the next call; the files are the caller's.
func (c *groupConn) next() (kind byte, body []byte, files []int, err error) {
	n, rights, _, _, err := c.ReadMsgUnix(c.buffer[:], c.rights[:])
	if err != nil {
		return 0, nil, nil, err
	}
	if rights > 0 {
		files = filesIn(c.rights[:rights])
	}
	if n == 0 {
		closeAll(files)
		return 0, nil, nil, net.ErrClosed
	}
	return c.buffer[0], c.buffer[1:n], files, nil
}

// nextMessage is next for what is not a packet.
func (c *groupConn) nextMessage() (kind byte, m groupMessage, files []int, err error) {
	kind, body, files, err := c.next()
	if err == nil {
		if err = json.Unmarshal(body, &m); err != nil {
			closeAll(files)
			files = nil
		}
	}
	return kind, m, files, err
}

func unmarshal(body []byte, m *groupMessage) bool { return json.Unmarshal(body, m) == nil }

func filesIn(rights []byte) (files []int) {
	messages, err := unix.ParseSocketControlMessage(rights)
	if err != nil {
		return nil
	}
	for i := range messages {
		if some, err := unix.ParseUnixRights(&messages[i]); err == nil {
			files = append(files, some...)
		}
	}
	return files
}

func closeAll(files []int) {
	for _, fd := range files {
		_ = unix.Close(fd)
	}
}

// appendStray makes a message of a packet that came to another's socket: where it came from and its place in
// the run that the kernel joined, which its ICRC is checked with.
func appendStray(b []byte, packet []byte, m *rxMessage, index int) []byte {
	from, _ := m.src.MarshalBinary() // never fails
	b = append(b, groupPacket, m.ecn, byte(index>>8), byte(index), byte(len(from)))
	b = append(b, from...)
	return append(b, packet...)
}

// parseStray is the reverse, of what follows the first byte.
func parseStray(b []byte) (packet []byte, m rxMessage, index int, ok bool) {
	if len(b) < 4 || len(b) < 4+int(b[3]) {
		return nil, m, 0, false
	}
	m.ecn, index = b[0], int(b[1])<<8|int(b[2])
	b, from := b[4+int(b[3]):], b[4:4+int(b[3])]
	if m.src.UnmarshalBinary(from) != nil {
		return nil, m, 0, false
	}
	m.data, m.segment = b, len(b)
	return b, m, index, true
}
