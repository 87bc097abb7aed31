package udp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"testing"

	"github.com/braid-rdma/braid/internal/pcapng"
	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
	"github.com/braid-rdma/braid/wire"
)

// captured is one packet of a capture, taken apart.
type captured struct {
	time      uint64
	direction pcapng.Direction
	comment   string
	flow      flow
	tos       byte
	id        uint16
	payload   []byte // of UDP
}

// readCapture takes a capture apart, and fails on anything that is not framed as
// the format demands.
func readCapture(t *testing.T, file []byte) (packets []captured) {
	t.Helper()
	le := binary.LittleEndian
	for number := 0; len(file) > 0; number++ {
		if len(file) < 12 || int(le.Uint32(file[4:])) > len(file) || le.Uint32(file[4:])%4 != 0 {
			t.Fatalf("block %d: %d bytes are left, its length is wrong", number, len(file))
		}
		length := int(le.Uint32(file[4:]))
		if again := le.Uint32(file[length-4:]); int(again) != length {
			t.Fatalf("block %d: its lengths are %d and %d", number, length, again)
		}
		kind, body := le.Uint32(file), file[8:length-4]
		file = file[length:]
		if kind != 6 {
			continue
		}
		size := int(le.Uint32(body[12:]))
		c := takeApart(t, body[20:20+size])
		c.time = uint64(le.Uint32(body[4:]))<<32 | uint64(le.Uint32(body[8:]))
		for options := body[20+(size+3)&^3:]; le.Uint16(options) != 0; {
			code, n := le.Uint16(options), int(le.Uint16(options[2:]))
			switch value := options[4 : 4+n]; code {
			case 1:
				c.comment = string(value)
			case 2:
				c.direction = pcapng.Direction(le.Uint32(value))
			}
			options = options[4+(n+3)&^3:]
		}
		packets = append(packets, c)
	}
	return packets
}

// takeApart reads the IP and UDP headers.
func takeApart(t *testing.T, ip []byte) (c captured) {
	t.Helper()
	be := binary.BigEndian
	udp := ip[20:]
	if ip[0]>>4 == 4 {
		c.tos, c.id = ip[1], be.Uint16(ip[4:])
		c.flow.src, c.flow.dst = netip.AddrFrom4([4]byte(ip[12:])), netip.AddrFrom4([4]byte(ip[16:]))
	} else {
		udp = ip[40:]
		c.tos = ip[0]<<4 | ip[1]>>4
		c.flow.src, c.flow.dst = netip.AddrFrom16([16]byte(ip[8:])), netip.AddrFrom16([16]byte(ip[24:]))
	}
	c.flow.sport, c.flow.dport = be.Uint16(udp), be.Uint16(udp[2:])
	if n := int(be.Uint16(udp[4:])); n != len(udp) {
		t.Fatalf("a datagram of %d bytes says that it has %d", len(udp), n)
	}
	c.payload = udp[8:]
	return c
}

// icrcRight says whether the ICRC is that of the packet with just these headers.
func (c *captured) icrcRight() bool {
	id := c.id
	if wire.Opcode(c.payload[0]).IsMP() {
		id = wire.MPIdentification
	}
	n := len(c.payload)
	sum := c.flow.prefix(n, id).Headers(c.payload[:wire.BTHLen]).Payload(c.payload[wire.BTHLen : n-wire.ICRCLen]).Sum()
	return sum == wire.ICRCAt(c.payload)
}

func TestCaptureHoldsTheTraffic(t *testing.T) {
	for _, kind := range []verbs.QPType{verbs.RC, verbs.MP} {
		for _, addr := range []netip.Addr{{}, loopback6} {
			t.Run(fmt.Sprintf("%v/IPv6=%v", kind, addr.Is6()), func(t *testing.T) {
				var file bytes.Buffer
				a, b := captureEnds(t, Config{Addr: addr, Paths: 4, MTU: 1024, DSCP: 26}, kind, &file)
				for _, size := range []int{0, 1, 63, 1024, 100_003} {
					testOperations(t, a, b, size)
				}
				noError(t, a.dev.Close())
				checkTraffic(t, readCapture(t, file.Bytes()), statsOf(t, a.dev), kind)
			})
		}
	}
}

// captureEnds connects two ends of which the first is captured. Over IPv6, which
// has a single loopback address, both are on one device.
func captureEnds(t *testing.T, cfg Config, kind verbs.QPType, file io.Writer) (a, b *end) {
	t.Helper()
	if cfg.Addr.Is6() {
		newPair(t, pairOptions{ip: cfg.Addr}) // skips the test where there is no IPv6
	}
	const memory = 2 << 20
	o := verbs.QPOptions{Type: kind}
	plain := cfg
	cfg.Capture = file
	a = openEnd(t, cfg, o, memory)
	if cfg.Addr.Is6() {
		b = secondEnd(t, a, o, memory)
	} else {
		b = openEnd(t, plain, o, memory)
	}
	join(t, a, b)
	return a, b
}

// checkTraffic compares a capture with what the engine counted, and every packet
// of it with itself.
func checkTraffic(t *testing.T, packets []captured, stats Stats, kind verbs.QPType) {
	t.Helper()
	counts := map[pcapng.Direction]uint64{}
	largestID, last := uint16(0), uint64(0)
	for i := range packets {
		c := &packets[i]
		counts[c.direction]++
		if !c.icrcRight() {
			t.Fatalf("packet %d, direction %v, id %d: the ICRC does not fit", i, c.direction, c.id)
		}
		wantTOS := byte(ecnECT0)
		if c.direction == pcapng.Outbound {
			wantTOS |= 26 << 2
			largestID = max(largestID, c.id)
		}
		if c.tos != wantTOS {
			t.Fatalf("packet %d, direction %v: type of service %#x, want %#x", i, c.direction, c.tos, wantTOS)
		}
		if c.time < last {
			t.Fatalf("packet %d: time %d after %d", i, c.time, last)
		}
		last = c.time
		checkComment(t, c)
	}
	if counts[pcapng.Outbound] != stats.PacketsSent || counts[pcapng.Inbound] != stats.PacketsReceived || len(counts) != 2 {
		t.Errorf("captured %v, sent %d, received %d", counts, stats.PacketsSent, stats.PacketsReceived)
	}
	if stats.CaptureErrors != 0 {
		t.Errorf("%d errors", stats.CaptureErrors)
	}
	// Without segments beyond the first, the identification would not be tested.
	if segmented := kind == verbs.RC && packets[0].flow.src.Is4(); segmented != (largestID > 0) {
		t.Errorf("the largest identification sent is %d", largestID)
	}
}

// checkComment reads the headers anew.
func checkComment(t *testing.T, c *captured) {
	t.Helper()
	var h wire.Headers
	if _, err := wire.ParseHeaders(c.payload[:len(c.payload)-wire.ICRCLen], &h); err != nil {
		t.Fatal(err)
	}
	want := ""
	switch op := h.Opcode; {
	case op == wire.MPBit|wire.Acknowledge || op == wire.MPProbeAck:
		want = fmt.Sprintf("%v, virtual path %d", op, h.Ack.Path)
	case op == wire.MPAcknowledgeBatch:
		want = fmt.Sprintf("%v, virtual path %d", op, h.Batch.Path)
	case op.IsMP():
		want = fmt.Sprintf("%v, virtual path %d", op, h.MP.Path)
	}
	if c.comment != want {
		t.Fatalf("the comment is %q, want %q", c.comment, want)
	}
}

// fullDisk takes a number of writes and then none.
type fullDisk struct{ room int }

var errDiskFull = errors.New("no space left on device")

func (d *fullDisk) Write(p []byte) (int, error) {
	if d.room == 0 {
		return 0, errDiskFull
	}
	d.room--
	return len(p), nil
}

func TestCaptureErrorDisturbsNothing(t *testing.T) {
	for _, room := range []int{0, 1, 20} {
		t.Run(fmt.Sprint(room), func(t *testing.T) {
			a, b := captureEnds(t, Config{Paths: 2}, verbs.MP, &fullDisk{room: room})
			testOperations(t, a, b, 100_003)
			testOperations(t, a, b, 64)
			if n := statsOf(t, a.dev).CaptureErrors; n != 1 {
				t.Errorf("%d errors were counted, want the one that ended the capture", n)
			}
		})
	}
}

// TestCaptureOfArrivals gives the capture datagrams of every kind that a socket
// can deliver, good and bad.
func TestCaptureOfArrivals(t *testing.T) {
	src := netip.AddrPortFrom(testFlow.src, testFlow.sport)
	damaged := sealed(testFlow, rcWrite(), []byte("payload!"), 0)
	damaged[20] ^= 1
	multi := rcWrite()
	multi.Opcode |= wire.MPBit
	multi.MP.Path = 1234
	tests := []struct {
		name    string
		data    []byte
		id      uint16
		comment string
	}{
		{"identification 0", sealed(testFlow, rcWrite(), []byte("payload!"), 0), 0, ""},
		{"a segment", sealed(testFlow, rcWrite(), []byte("payload!"), 43), 43, ""},
		{"a standard peer", sealed(testFlow, rcWrite(), []byte("payload!"), 0xfedc), 0xfedc, ""},
		{"damaged", damaged, 0, ""},
		{"multi-path", sealed(testFlow, multi, []byte("payload!"), wire.MPIdentification), 0, multi.Opcode.String() + ", virtual path 1234"},
		{"one byte", []byte{7}, 0, ""},
		{"no packet of the protocol", bytes.Repeat([]byte{0xff}, 100), 0, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var file bytes.Buffer
			e := &engine{own: &address{ip: testFlow.dst}, cfg: Config{Port: rocePort}}
			e.startCapture(&file)
			e.captureReceived(e.own, test.data, &rxMessage{src: src, ecn: ecnMarked})
			packets := readCapture(t, file.Bytes())
			if len(packets) != 1 {
				t.Fatalf("%d packets", len(packets))
			}
			got := packets[0]
			if got.id != test.id || got.comment != test.comment || got.tos != ecnMarked || got.flow != testFlow ||
				got.direction != pcapng.Inbound || !bytes.Equal(got.payload, test.data) {
				t.Errorf("captured %+v", got)
			}
		})
	}
}

// TestCaptureOmitsWhatItCannotDescribe lets one datagram come from nowhere.
func TestCaptureOmitsWhatItCannotDescribe(t *testing.T) {
	var file bytes.Buffer
	e := &engine{own: &address{ip: testFlow.dst}, cfg: Config{Port: rocePort}}
	e.startCapture(&file)
	e.captureReceived(e.own, []byte{1}, &rxMessage{})
	e.captureReceived(e.own, []byte{2}, &rxMessage{src: netip.AddrPortFrom(testFlow.src, 1)})
	if packets := readCapture(t, file.Bytes()); len(packets) != 1 || e.stats.CaptureErrors != 1 {
		t.Errorf("%d packets, %d errors", len(packets), e.stats.CaptureErrors)
	}
}

func TestCaptureDoesNotAllocate(t *testing.T) {
	e := &engine{own: &address{ip: testFlow.dst}, flow: testFlow, cfg: Config{Port: rocePort}}
	e.startCapture(io.Discard)
	multi := rcWrite()
	multi.Opcode |= wire.MPBit
	arrival := sealed(testFlow, multi, make([]byte, 4096), wire.MPIdentification)
	message := &rxMessage{src: netip.AddrPortFrom(testFlow.src, testFlow.sport)}
	packet := &transport.Packet{Headers: *multi}
	head, tail := make([]byte, packet.Headers.Len()), make([]byte, wire.ICRCLen)
	allocations := testing.AllocsPerRun(100, func() {
		e.captureReceived(e.own, arrival, message)
		e.captureSent(packet, 0, head, tail)
	})
	if allocations != 0 || e.capture == nil || e.stats.CaptureErrors != 0 {
		t.Errorf("%v allocations, %d errors", allocations, e.stats.CaptureErrors)
	}
}
