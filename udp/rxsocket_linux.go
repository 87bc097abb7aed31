package udp

import (
	"fmt"
	"net/netip"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// rocePort is the UDP port to which every RoCEv2 packet is sent.
	rocePort = 4791

	// rxBufferSize holds the largest datagram, and so the largest run of packets
	// that UDP_GRO can hand over at once.
	rxBufferSize = 64 << 10

	// rxBufferStride keeps the buffers from starting at the same offset of a page:
	// else their first lines, which hold the headers, would all fall into the same few
	// sets of the cache.
	rxBufferStride = rxBufferSize + 128

	// rxControlWords is the space for control messages, in 8-byte words so that the
	// kernel's headers are aligned. The three messages that are always enabled need 9, the time of arrival 4.
	rxControlWords = 16

	// defaultRxBatch is small on purpose: with joined runs of 64 KiB a system call is
	// amortised already, so that more buffers gain nothing (BenchmarkReceiveCost) and only
	// take up cache.
	defaultRxBatch  = 4
	defaultRxBuffer = 8 << 20
)

// rxOptions tunes a receiving socket; the zero value is the default.
type rxOptions struct {
	batch  int  // messages per recv, default 4
	rcvbuf int  // bytes of socket buffer to ask for, default 8 MiB
	noGRO  bool // leave UDP_GRO off, as on a kernel that lacks it
}

// rxSocket receives packets into buffers of its own. It belongs to one goroutine
// at a time, and allocates only when it is opened.
type rxSocket struct {
	fd      int
	local   netip.AddrPort
	gro     bool // the kernel joins runs of packets
	granted int  // bytes of socket buffer, as the kernel counts

	headers  []mmsghdr
	iovecs   []unix.Iovec
	names    []unix.RawSockaddrInet6
	controls [][rxControlWords]uint64
	buffers  []byte

	ask      int    // messages to ask the kernel for next
	used     int    // headers that the kernel has written and that recv must reset
	overflow uint32 // packets dropped for want of buffer space since the socket was opened; wraps
	arrived  uint64 // the round in which something last arrived

	// The last source and its conversion: a run of messages mostly has one sender.
	lastName unix.RawSockaddrInet6
	lastAddr netip.AddrPort
}

// rxMessage is one datagram, or a run of datagrams that the kernel joined. data
// belongs to the socket and is valid until the next recv.
type rxMessage struct {
	data    []byte
	segment int            // bytes of each packet in data but the last, which may be shorter
	src     netip.AddrPort // the sender; its port is the path the packet came by
	ecn     byte           // the two ECN bits, the same for the whole run
	dropped uint32         // packets that the kernel has dropped before it, since the message before
	stamp   int64          // when it arrived, by the kernel's clock, or 0
}

// openRx opens a receiving socket at addr; port 0 lets the kernel choose one.
func openRx(addr netip.AddrPort, opt rxOptions, more ...option) (*rxSocket, error) {
	addr = netip.AddrPortFrom(addr.Addr().Unmap(), addr.Port())
	fd, err := openSocket(addr, append(rxSocketOptions(addr.Addr()), more...)...)
	if err != nil {
		return nil, err
	}
	return rxOf(fd, opt)
}

// rxOf makes a receiving socket of one that is bound, and closes it if that fails.
func rxOf(fd int, opt rxOptions) (*rxSocket, error) {
	s := &rxSocket{fd: fd}
	if err := s.setUp(opt); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	return s, nil
}

// rxSocketOptions lists the options that every receiving socket must have.
//
// RoCEv2 has its own checksum, so senders may leave that of UDP at zero, as the
// Linux driver does. Over IPv6 a socket takes such packets only if it says so.
func rxSocketOptions(ip netip.Addr) []option {
	overflow := option{unix.SOL_SOCKET, unix.SO_RXQ_OVFL, 1}
	if ip.Is4() {
		return []option{
			overflow,
			{unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_DO},
			{unix.IPPROTO_IP, unix.IP_RECVTOS, 1},
		}
	}
	return []option{
		overflow,
		{unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 1},
		{unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER, unix.IPV6_PMTUDISC_DO},
		{unix.IPPROTO_IPV6, unix.IPV6_RECVTCLASS, 1},
		{unix.IPPROTO_UDP, unix.UDP_NO_CHECK6_RX, 1},
	}
}

// setUp does what remains once the socket is bound.
func (s *rxSocket) setUp(opt rxOptions) (err error) {
	if opt.batch <= 0 {
		opt.batch = defaultRxBatch
	}
	if opt.rcvbuf <= 0 {
		opt.rcvbuf = defaultRxBuffer
	}
	if s.local, err = localAddr(s.fd); err != nil {
		return err
	}
	s.granted, err = setBuffer(s.fd, unix.SO_RCVBUF, unix.SO_RCVBUFFORCE, opt.rcvbuf)
	if err != nil {
		return err
	}
	// A kernel without UDP_GRO still works: every message is then a single packet.
	s.gro = !opt.noGRO && unix.SetsockoptInt(s.fd, unix.IPPROTO_UDP, unix.UDP_GRO, 1) == nil
	s.prepare(opt.batch)
	return nil
}

// prepare lays out the buffers and points the kernel's structures at them, once.
func (s *rxSocket) prepare(batch int) {
	s.headers = make([]mmsghdr, batch)
	s.iovecs = make([]unix.Iovec, batch)
	s.names = make([]unix.RawSockaddrInet6, batch)
	s.controls = make([][rxControlWords]uint64, batch)
	s.buffers = make([]byte, batch*rxBufferStride)
	for i := range s.headers {
		s.iovecs[i].Base = &s.buffers[i*rxBufferStride]
		s.iovecs[i].SetLen(rxBufferSize)
		hdr := &s.headers[i].hdr
		hdr.Name = (*byte)(unsafe.Pointer(&s.names[i]))
		hdr.Iov = &s.iovecs[i]
		hdr.SetIovlen(1)
		hdr.Control = (*byte)(unsafe.Pointer(&s.controls[i]))
	}
	s.used, s.ask = batch, 1
}

// recv takes what has arrived, without waiting, and returns the number of messages.
// No message is not an error. The messages of the previous recv become invalid.
func (s *rxSocket) recv() (int, error) {
	for i := range s.headers[:s.used] {
		// The kernel replaced both sizes by what it wrote.
		s.headers[i].hdr.Namelen = unix.SizeofSockaddrInet6
		s.headers[i].hdr.SetControllen(rxControlWords * 8)
	}
	s.used = 0
	for {
		// RawSyscall: the call never blocks, so telling the scheduler would only cost.
		n, _, errno := unix.RawSyscall6(unix.SYS_RECVMMSG, uintptr(s.fd), uintptr(unsafe.Pointer(&s.headers[0])),
			uintptr(s.ask), unix.MSG_DONTWAIT, 0, 0)
		switch errno {
		case 0:
			s.used = int(n)
			s.adapt(int(n))
			return int(n), nil
		case unix.EAGAIN:
			s.adapt(0)
			return 0, nil
		case unix.EINTR:
			continue
		default:
			return 0, errno
		}
	}
}

// adapt asks for more messages the next time when as many came as were asked
// for, and for one after a call in vain: where messages come one by one, looking
// for a second would cost half as much as receiving the first.
func (s *rxSocket) adapt(n int) {
	if n == s.ask {
		s.ask = min(2*n, len(s.headers))
	} else {
		s.ask = max(n, 1)
	}
}

// message describes message i of the last recv.
func (s *rxSocket) message(i int) rxMessage {
	header := &s.headers[i]
	start := i * rxBufferStride
	data := s.buffers[start : start+int(header.length) : start+rxBufferSize]
	control := unsafe.Slice((*byte)(unsafe.Pointer(&s.controls[i])), int(header.hdr.Controllen))
	info := parseControl(control)
	dropped := uint32(0)
	if info.hasOverflow { // the kernel reports the counter only once it has left zero
		dropped = info.overflow - s.overflow
		s.overflow = info.overflow
	}
	segment := len(data)
	if info.segment > 0 && info.segment < segment {
		segment = info.segment
	}
	if s.names[i] != s.lastName {
		s.lastName = s.names[i]
		s.lastAddr = decodeSockaddr(&s.lastName)
	}
	return rxMessage{data: data, segment: segment, src: s.lastAddr, ecn: info.ecn, dropped: dropped, stamp: info.stamp}
}

// cold says whether the socket is to be passed over in this round: nothing has come of late, and
// it is read once in so many rounds.
func (s *rxSocket) cold(round, every uint64) bool {
	return round-s.arrived > coldRounds && round%every != 0
}

// rcvbuf returns the size of the socket buffer as the kernel counts it, with its own
// bookkeeping: about half of it can be payload.
func (s *rxSocket) rcvbuf() int { return s.granted }

// close closes the socket. The owner must not be inside recv or wait.
func (s *rxSocket) close() error {
	if s.fd < 0 {
		return nil
	}
	fd := s.fd
	s.fd = -1
	if err := unix.Close(fd); err != nil {
		return fmt.Errorf("udp: close the receiving socket: %w", err)
	}
	return nil
}
