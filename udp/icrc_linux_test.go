package udp

import (
	"net/netip"
	"testing"

	"github.com/braid-rdma/braid/wire"
)

// sealed is a whole UDP payload: headers, payload, pad and the ICRC that belongs
// to a flow and an IP identification.
func sealed(f flow, h *wire.Headers, payload []byte, id uint16) []byte {
	h.Pad = wire.PadLen(len(payload))
	b := h.Append(nil)
	headers := len(b)
	b = append(b, payload...)
	b = append(b, make([]byte, h.Pad)...)
	prefix := f.prefix(len(b)+wire.ICRCLen, id)
	return wire.AppendICRC(b, prefix.Headers(b[:headers]).Payload(b[headers:]).Sum())
}

var testFlow = flow{
	src: netip.MustParseAddr("127.1.2.3"), dst: netip.MustParseAddr("127.4.5.6"), sport: 40000, dport: rocePort,
}

func rcWrite() *wire.Headers {
	return &wire.Headers{BTH: wire.BTH{Opcode: wire.WriteOnly, PKey: wire.DefaultPKey, DestQP: 77, PSN: 5}}
}

func newChecker(f flow, anyID bool) *checker {
	var c checker
	c.init(f.dst, f.dport, anyID)
	return &c
}

func TestCheckerIPIdentification(t *testing.T) {
	src := netip.AddrPortFrom(testFlow.src, testFlow.sport)
	for _, size := range []int{0, 3, 64, 4096} {
		strict, lax := newChecker(testFlow, false), newChecker(testFlow, true)
		for _, id := range []uint16{0, 1, 31, 63, 64, 65, 1000, 0x8000, 0xffff} {
			h := rcWrite()
			packet := sealed(testFlow, h, content(1, size), id)
			for _, index := range []int{0, int(id) % 64, 63, 64, 200} {
				if got, want := strict.valid(packet, src, false, index), id < maxSegments; got != want {
					t.Errorf("%d bytes, identification %d at index %d: valid is %v", size, id, index, got)
				}
				if !lax.valid(packet, src, false, index) {
					t.Errorf("%d bytes, identification %d: refused although any is allowed", size, id)
				}
			}
			packet[len(packet)-1] ^= 0x10
			if strict.valid(packet, src, false, 0) {
				t.Errorf("%d bytes, identification %d: a damaged packet is accepted", size, id)
			}
		}
	}
}

// TestCheckerFollowsFlow alternates lengths, sources and services, so that
// nothing remembered of one packet may serve for another.
func TestCheckerFollowsFlow(t *testing.T) {
	c := newChecker(testFlow, false)
	for round := range 3 {
		for _, sport := range []uint16{40000, 40001} {
			for _, size := range []int{8, 64} {
				for _, multi := range []bool{false, true} {
					f, h, id := testFlow, rcWrite(), uint16(0)
					f.sport = sport
					if multi {
						h.Opcode |= wire.MPBit
						id = wire.MPIdentification
					}
					packet := sealed(f, h, content(2, size), id)
					if !c.valid(packet, netip.AddrPortFrom(f.src, sport), multi, 0) {
						t.Errorf("round %d: port %d, %d bytes, multi %v: refused", round, sport, size, multi)
					}
					if c.valid(packet, netip.AddrPortFrom(f.src, sport+7), multi, 0) {
						t.Errorf("round %d: port %d, %d bytes, multi %v: accepted from another port", round, sport, size, multi)
					}
				}
			}
		}
	}
}

func TestCheckerIPv6(t *testing.T) {
	f := flow{src: netip.IPv6Loopback(), dst: netip.IPv6Loopback(), sport: 40000, dport: rocePort}
	c, h := newChecker(f, false), rcWrite()
	packet := sealed(f, h, content(1, 40), 0)
	if !c.valid(packet, netip.AddrPortFrom(f.src, f.sport), false, 3) {
		t.Error("refused: IPv6 has no identification")
	}
	packet[20] ^= 1
	if c.valid(packet, netip.AddrPortFrom(f.src, f.sport), false, 0) {
		t.Error("a damaged packet is accepted")
	}
}

func TestPrefixCache(t *testing.T) {
	var c prefixCache
	for _, length := range []int{64, 64, 100, 64, 4200} {
		for _, id := range []int{0, 5, 63, 5} {
			if got, want := c.forSingle(&testFlow, length, id), testFlow.prefix(length, uint16(id)); got != want {
				t.Errorf("length %d, identification %d: %#x, want %#x", length, id, got, want)
			}
			if got, want := c.forMulti(&testFlow, length), testFlow.prefix(length, wire.MPIdentification); got != want {
				t.Errorf("length %d: %#x, want %#x", length, got, want)
			}
		}
	}
}
