package udp

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestOverflowIsCounted(t *testing.T) {
	p := newPair(t, pairOptions{rx: rxOptions{rcvbuf: 4096}, tx: txOptions{noGSO: true}})
	if p.rx.rcvbuf() > 64<<10 {
		t.Fatalf("asked for 4096 bytes of buffer and got %d", p.rx.rcvbuf())
	}
	for range 4 {
		for i := range 32 {
			p.post(0, content(i, 1000))
		}
		p.batch.flush()
	}
	arrived := len(p.collect(128, time.Second))
	if arrived >= 128 {
		t.Fatal("nothing was dropped; the test does not test")
	}
	// The kernel tells the counter with the packets that it queues after the loss.
	p.post(0, content(0, 100))
	p.batch.flush()
	n, err := p.rx.recv()
	if err != nil || n != 1 {
		t.Fatalf("recv: %d messages, %v", n, err)
	}
	if lost := p.rx.message(0).dropped; int(lost) != 128-arrived {
		t.Errorf("the overflow counter shows %d, but %d packets are missing", lost, 128-arrived)
	}
}

func TestOpenErrors(t *testing.T) {
	taken, err := openRx(netip.AddrPortFrom(loopback4, 0), rxOptions{batch: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer taken.close()
	tests := []struct {
		name string
		addr netip.AddrPort
		want error
	}{
		{"in use", taken.local, ErrPortInUse},
		{"foreign IPv4", netip.MustParseAddrPort("198.51.100.7:4791"), ErrNoAddress},
		{"foreign IPv6", netip.MustParseAddrPort("[2001:db8::7]:4791"), ErrNoAddress},
		{"unknown zone", netip.MustParseAddrPort("[fe80::1%nosuchlink]:4791"), ErrNoAddress},
		{"no address", netip.AddrPort{}, ErrNoAddress},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if socket, err := openRx(test.addr, rxOptions{}); !errors.Is(err, test.want) {
				t.Errorf("openRx(%v) = %v, %v; want %v", test.addr, socket, err, test.want)
			}
		})
	}
}

func TestExplain(t *testing.T) {
	addr := netip.MustParseAddrPort("127.0.0.1:80")
	tests := map[unix.Errno]error{
		unix.EADDRINUSE: ErrPortInUse, unix.EADDRNOTAVAIL: ErrNoAddress, unix.EAFNOSUPPORT: ErrNoAddress,
		unix.EACCES: ErrPermission, unix.EPERM: ErrPermission, unix.EMFILE: ErrTooManyFiles, unix.ENFILE: ErrTooManyFiles,
	}
	for errno, want := range tests {
		if err := explain("bind", addr, errno); !errors.Is(err, want) || !errors.Is(err, errno) {
			t.Errorf("%v is explained as %v", errno, err)
		}
	}
}

func TestEmptyReceive(t *testing.T) {
	p := newPair(t, pairOptions{})
	if n, err := p.rx.recv(); n != 0 || err != nil {
		t.Errorf("recv on an empty socket: %d, %v", n, err)
	}
}

// appendControl adds one control message in the kernel's form.
func appendControl(b []byte, level, kind int32, data []byte) []byte {
	message := make([]byte, unix.CmsgSpace(len(data)))
	if unix.SizeofCmsghdr == 16 {
		binary.NativeEndian.PutUint64(message, uint64(unix.CmsgLen(len(data))))
	} else {
		binary.NativeEndian.PutUint32(message, uint32(unix.CmsgLen(len(data))))
	}
	binary.NativeEndian.PutUint32(message[unix.SizeofCmsghdr-8:], uint32(level))
	binary.NativeEndian.PutUint32(message[unix.SizeofCmsghdr-4:], uint32(kind))
	copy(message[unix.CmsgLen(0):], data)
	return append(b, message...)
}

func TestParseControl(t *testing.T) {
	number := func(n uint32) []byte { return binary.NativeEndian.AppendUint32(nil, n) }
	b := appendControl(nil, unix.SOL_SOCKET, unix.SO_TIMESTAMP, make([]byte, 16)) // to be skipped
	b = appendControl(b, unix.IPPROTO_IP, unix.IP_TOS, []byte{0xfe})
	b = appendControl(b, unix.IPPROTO_UDP, unix.UDP_GRO, number(4176))
	b = appendControl(b, unix.SOL_SOCKET, unix.SO_RXQ_OVFL, number(7))
	want := controlInfo{segment: 4176, overflow: 7, hasOverflow: true, ecn: 2}
	if got := parseControl(b); got != want {
		t.Errorf("parsed %+v, want %+v", got, want)
	}
	if got := parseControl(appendControl(nil, unix.IPPROTO_IPV6, unix.IPV6_TCLASS, number(3))); got.ecn != 3 {
		t.Errorf("parsed %+v from the IPv6 traffic class", got)
	}
	for cut := range b {
		parseControl(b[:cut:cut]) // must not read beyond the end
	}
}

func FuzzParseControl(f *testing.F) {
	f.Add(appendControl(nil, unix.IPPROTO_IP, unix.IP_TOS, []byte{3}))
	f.Add(appendControl(nil, unix.IPPROTO_UDP, unix.UDP_GRO, []byte{0, 16, 0, 0}))
	f.Fuzz(func(t *testing.T, b []byte) {
		if info := parseControl(b); info.ecn > 3 {
			t.Errorf("ECN %d", info.ecn)
		}
	})
}

// TestReceivesWithoutChecksum sends as RoCE devices do, whose packets have no UDP
// checksum because they have an ICRC.
func TestReceivesWithoutChecksum(t *testing.T) {
	for _, ip := range []netip.Addr{loopback4, loopback6} {
		t.Run(ip.String(), func(t *testing.T) {
			p := newPair(t, pairOptions{ip: ip})
			level, name := unix.SOL_SOCKET, unix.SO_NO_CHECK
			if ip.Is6() {
				level, name = unix.IPPROTO_UDP, unix.UDP_NO_CHECK6_TX
			}
			noError(t, unix.SetsockoptInt(p.pool.sockets[0].fd, level, name, 1))
			packet := content(1, 100)
			p.post(0, packet)
			p.batch.flush()
			p.wantPackets(packet)
		})
	}
}
