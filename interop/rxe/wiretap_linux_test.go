package rxe

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"net"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/braid-rdma/braid/internal/pcapng"
)

// wireTap watches the link with a packet socket, which, unlike the sockets that
// braid uses, sees all headers. So the ICRC of every packet can be checked in full,
// the kernel's identifications included.
type wireTap struct {
	fd      int
	done    chan struct{}
	stopped bool

	mu     sync.Mutex
	file   bytes.Buffer
	writer *pcapng.Writer
	tapCounts
}

// tapCounts is what has been seen of RoCE, by direction.
type tapCounts struct {
	toKernel, toBraid       int
	badToKernel, badToBraid int // packets with a wrong ICRC
	identified              int // packets of the kernel with an identification other than zero
	missed                  int // what the socket had no room for
}

const (
	etherHeader = 14
	ipv4Header  = 20
	udpHeader   = 8
	rocePort    = 4791
	icrcLength  = 4
	// tapBuffer holds what comes while this process waits for a processor.
	tapBuffer = 64 << 20
)

// newWireTap watches from now on; stop returns what it has seen.
func newWireTap(t *testing.T) *wireTap {
	t.Helper()
	guest(t)
	link, err := net.InterfaceByName(tapName)
	if err != nil {
		t.Fatal(err)
	}
	all := int(binary.BigEndian.Uint16(binary.NativeEndian.AppendUint16(nil, unix.ETH_P_ALL)))
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, all)
	if err != nil {
		t.Fatal(err)
	}
	w := &wireTap{fd: fd, done: make(chan struct{})}
	t.Cleanup(func() { w.stop(t) })
	if w.writer, err = pcapng.NewWriter(&w.file); err != nil {
		t.Fatal(err)
	}
	// The reader wakes up now and then, to see whether it is to end.
	patience := unix.NsecToTimeval(int64(50 * time.Millisecond))
	for _, err := range []error{
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, tapBuffer),
		unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &patience),
		unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: uint16(all), Ifindex: link.Index}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	go w.watch()
	return w
}

// watch reads until there is nothing left after stop.
func (w *wireTap) watch() {
	defer close(w.done)
	frame := make([]byte, 1<<16)
	for {
		n, from, err := unix.Recvfrom(w.fd, frame, 0)
		if err != nil {
			w.mu.Lock()
			end := w.stopped
			w.mu.Unlock()
			if end {
				return
			}
			continue
		}
		if sender, ok := from.(*unix.SockaddrLinklayer); ok && n > etherHeader {
			w.note(frame[etherHeader:n], sender.Pkttype == unix.PACKET_OUTGOING)
		}
	}
}

// note takes in an IP packet, if it is one of RoCE.
func (w *wireTap) note(ip []byte, toKernel bool) {
	if !isRoCE(ip) {
		return
	}
	length := int(binary.BigEndian.Uint16(ip[2:]))
	ip = ip[:min(length, len(ip))]
	good := icrcOf(ip) == binary.LittleEndian.Uint32(ip[len(ip)-icrcLength:])
	w.mu.Lock()
	defer w.mu.Unlock()
	direction := pcapng.Inbound
	if toKernel {
		direction = pcapng.Outbound
		w.toKernel++
		if !good {
			w.badToKernel++
		}
	} else {
		w.toBraid++
		if !good {
			w.badToBraid++
		}
		if binary.BigEndian.Uint16(ip[4:]) != 0 {
			w.identified++
		}
	}
	// A buffer in memory takes everything.
	_ = w.writer.WritePacket(&pcapng.Packet{Data: ip, Direction: direction, Time: time.Now().UnixNano()})
}

func isRoCE(ip []byte) bool {
	const udp = 17
	return len(ip) > ipv4Header+udpHeader+icrcLength && ip[0] == 0x45 && ip[9] == udp &&
		binary.BigEndian.Uint16(ip[ipv4Header+2:]) == rocePort
}

// icrcOf is the ICRC of an IPv4 packet, from the specification and not from our
// own code: CRC-32 over eight bytes of ones and the packet, with ones in the place
// of what routers change.
func icrcOf(ip []byte) uint32 {
	const (
		tos, ttl, checksum = 1, 8, 10
		udpChecksum        = ipv4Header + 6
		congestion         = ipv4Header + udpHeader + 4 // FECN and BECN
	)
	covered := append(bytes.Repeat([]byte{0xff}, 8), ip[:len(ip)-icrcLength]...)
	for _, at := range []int{tos, ttl, checksum, checksum + 1, udpChecksum, udpChecksum + 1, congestion} {
		covered[8+at] = 0xff
	}
	return crc32.ChecksumIEEE(covered)
}

// stop ends the watch and returns what was seen. Further calls return the same.
func (w *wireTap) stop(t *testing.T) (tapCounts, []byte) {
	t.Helper()
	w.mu.Lock()
	first := !w.stopped
	w.stopped = true
	w.mu.Unlock()
	<-w.done
	if first {
		stats, err := unix.GetsockoptTpacketStats(w.fd, unix.SOL_PACKET, unix.PACKET_STATISTICS)
		if err != nil {
			t.Fatal(err)
		}
		w.missed = int(stats.Drops)
		unix.Close(w.fd)
	}
	return w.tapCounts, w.file.Bytes()
}
