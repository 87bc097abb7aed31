package udp

import (
	"net/netip"
	"sync"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// sendHook stands between an engine and the kernel.
type sendHook func(path int, messages []mmsghdr) (int, unix.Errno)

// hookSends puts a hook in front of the kernel, or takes it away (nil).
func hookSends(e *engine, hook sendHook) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if hook == nil {
		e.batch.send = sendmmsg
		return
	}
	e.batch.send = func(fd int, messages []mmsghdr) (int, unix.Errno) {
		for _, socket := range e.pool.opened {
			if socket.fd == fd {
				return hook(socket.source, messages)
			}
		}
		return sendmmsg(fd, messages)
	}
}

// pathFD is the descriptor of a path's socket.
func pathFD(e *engine, path int) int { return e.pool.socket(path).fd }

// sentPacket is a packet that an engine sent.
type sentPacket struct {
	path int
	data []byte
}

// tap records what an engine sends and lets it pass.
type tap struct {
	mu      sync.Mutex
	packets []sentPacket
}

// tapSends records up to limit packets.
func tapSends(e *engine, limit int) *tap {
	c := &tap{}
	hookSends(e, func(path int, messages []mmsghdr) (int, unix.Errno) {
		n, errno := sendmmsg(pathFD(e, path), messages)
		c.mu.Lock()
		defer c.mu.Unlock()
		for i := range n {
			for _, packet := range packetsOf(&messages[i]) {
				if len(c.packets) < limit {
					c.packets = append(c.packets, sentPacket{path, packet})
				}
			}
		}
		return n, errno
	})
	return c
}

func (c *tap) taken() []sentPacket {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]sentPacket(nil), c.packets...)
}

// packetsOf copies the packets of a message, cut as the kernel will cut it.
func packetsOf(m *mmsghdr) (packets [][]byte) {
	var all []byte
	for _, piece := range unsafe.Slice(m.hdr.Iov, int(m.hdr.Iovlen)) {
		all = append(all, unsafe.Slice(piece.Base, int(piece.Len))...)
	}
	size := segmentOf(m, len(all))
	for len(all) > 0 {
		n := min(size, len(all))
		packets = append(packets, all[:n:n])
		all = all[n:]
	}
	return packets
}

// segmentOf is the size of the packets into which the kernel will cut a message.
func segmentOf(m *mmsghdr, whole int) int {
	control := unsafe.Slice(m.hdr.Control, int(m.hdr.Controllen))
	for len(control) >= unix.SizeofCmsghdr {
		header := (*unix.Cmsghdr)(unsafe.Pointer(&control[0]))
		if header.Level == unix.IPPROTO_UDP && header.Type == unix.UDP_SEGMENT {
			return int((*segmentControl)(unsafe.Pointer(header)).size)
		}
		control = control[min(len(control), unix.CmsgSpace(int(header.Len)-unix.CmsgLen(0))):]
	}
	return whole
}

// inject sends bytes to a device from the source port of a peer's path, as only
// the peer itself can, or somebody who forges its address.
func inject(t testing.TB, from *engine, path int, to netip.Addr, data []byte) {
	t.Helper()
	sa, err := sockaddrOf(netip.AddrPortFrom(to, rocePort))
	noError(t, err)
	var source sourceControl
	if from.anywhere() {
		source.set(from.own.ip)
	}
	for {
		err := unix.Sendmsg(pathFD(from, path), data, source.bytes[sourceRoom-source.length:], sa, 0)
		if err == unix.EAGAIN || err == unix.EINTR {
			continue
		}
		noError(t, err)
		return
	}
}

// stranger is a socket that belongs to no device.
type stranger struct {
	t    testing.TB
	fd   int
	addr netip.AddrPort
}

// newStranger binds a socket to an address; an invalid one means a loopback
// address that no device has.
func newStranger(t testing.TB, addr netip.Addr) *stranger {
	t.Helper()
	if !addr.IsValid() {
		addr = netip.MustParseAddr("127.0.0.99")
	}
	s := &stranger{t: t}
	var err error
	s.fd, err = openSocket(netip.AddrPortFrom(addr, 0), txSocketOptions(addr, txOptions{})...)
	noError(t, err)
	t.Cleanup(func() { _ = unix.Close(s.fd) })
	s.addr, err = localAddr(s.fd)
	noError(t, err)
	return s
}

func (s *stranger) send(to netip.Addr, data []byte) {
	s.t.Helper()
	sa, err := sockaddrOf(netip.AddrPortFrom(to, rocePort))
	noError(s.t, err)
	for {
		err := unix.Sendto(s.fd, data, 0, sa)
		if err == unix.EAGAIN || err == unix.EINTR || err == unix.ECONNREFUSED {
			continue
		}
		noError(s.t, err)
		return
	}
}

// flowTo is the flow of the stranger's packets.
func (s *stranger) flowTo(to netip.Addr) flow {
	return flow{src: s.addr.Addr(), dst: to, sport: s.addr.Port(), dport: rocePort}
}
