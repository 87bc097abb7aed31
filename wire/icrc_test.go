package wire

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// slowICRC computes the ICRC of a whole IP packet by the words of the
// specification, one bit at a time, and shares nothing with the package: it
// copies the packet, overwrites the fields that may change on the way with
// ones, and divides. The packet is without its last four bytes.
func slowICRC(ip []byte) uint32 {
	b := append([]byte{255, 255, 255, 255, 255, 255, 255, 255}, ip...)
	var udp int
	if ip[0]>>4 == 4 {
		b[8+1], b[8+8], b[8+10], b[8+11] = 255, 255, 255, 255 // TOS, TTL, checksum
		udp = 8 + 20
	} else {
		b[8+0] |= 0x0f
		b[8+1], b[8+2], b[8+3], b[8+7] = 255, 255, 255, 255 // class, flow label, hop limit
		udp = 8 + 40
	}
	b[udp+6], b[udp+7] = 255, 255
	b[udp+8+4] = 255
	register := uint32(0xffffffff)
	for _, v := range b {
		for bit := range 8 {
			feedback := register&1 ^ uint32(v)>>bit&1
			register >>= 1
			if feedback != 0 {
				register ^= 0xedb88320
			}
		}
	}
	return ^register
}

// flow is the addressing of a test packet.
type flow struct {
	v6           bool
	sport, dport uint16
	id           uint16
	src4, dst4   [4]byte
	src6, dst6   [16]byte
}

func randomFlow(r *rand.Rand, v6 bool) flow {
	f := flow{v6: v6, sport: 0xc000 | uint16(r.Uint32()), dport: UDPPort, id: uint16(r.Uint32())}
	binary.BigEndian.PutUint32(f.src4[:], r.Uint32())
	binary.BigEndian.PutUint32(f.dst4[:], r.Uint32())
	for i := range 2 {
		binary.BigEndian.PutUint64(f.src6[8*i:], r.Uint64())
		binary.BigEndian.PutUint64(f.dst6[8*i:], r.Uint64())
	}
	return f
}

// ipPacket wraps a UDP payload, which lacks its ICRC, in real headers, with
// values in the masked fields that are not ones.
func (f *flow) ipPacket(udpPayload []byte) []byte {
	length := udpLen + len(udpPayload) + ICRCLen
	var b []byte
	if f.v6 {
		b = append(b, 0x60, 0x20, 0x12, 0x34)
		b = binary.BigEndian.AppendUint16(b, uint16(length))
		b = append(b, 17, 64)
		b = append(b, f.src6[:]...)
		b = append(b, f.dst6[:]...)
	} else {
		b = append(b, 0x45, 0x02)
		b = binary.BigEndian.AppendUint16(b, uint16(20+length))
		b = binary.BigEndian.AppendUint16(b, f.id)
		b = append(b, 0x40, 0, 64, 17, 0, 0)
		b = append(b, f.src4[:]...)
		b = append(b, f.dst4[:]...)
		binary.BigEndian.PutUint16(b[10:], ipChecksum(b))
	}
	b = binary.BigEndian.AppendUint16(b, f.sport)
	b = binary.BigEndian.AppendUint16(b, f.dport)
	b = binary.BigEndian.AppendUint16(b, uint16(length))
	b = append(b, 0, 0)
	return append(b, udpPayload...)
}

func ipChecksum(b []byte) uint16 {
	var sum uint32
	for i := 0; i < len(b); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	for sum>>16 != 0 {
		sum = sum&0xffff + sum>>16
	}
	return ^uint16(sum)
}

// prefix returns the package's state before BTH for a UDP payload of n bytes
// with ICRC.
func (f *flow) prefix(n int) ICRC {
	if f.v6 {
		return ICRCPrefix6(f.src6, f.dst6, f.sport, f.dport, n)
	}
	return ICRCPrefix4(f.src4, f.dst4, f.sport, f.dport, n, f.id)
}

func randomPayload(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func TestICRCAgainstBitwiseDivision(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for _, op := range validOpcodes() {
		for _, size := range []int{0, 1, 3, 4, 15, 64, 257, 1024, 4096} {
			if size > 0 && !op.HasPayload() {
				continue
			}
			f := randomFlow(r, r.IntN(2) == 0)
			h := randomHeaders(r, op)
			h.Pad = PadLen(size)
			b := h.Append(nil)
			b = append(b, randomPayload(r, size)...)
			b = append(b, make([]byte, h.Pad)...)
			got := f.prefix(len(b) + ICRCLen).Headers(b[:h.Len()]).Payload(b[h.Len():]).Sum()
			if want := slowICRC(f.ipPacket(b)); got != want {
				t.Fatalf("%v, payload %d, IPv6 %v: ICRC %08x, want %08x", op, size, f.v6, got, want)
			}
		}
	}
}

// TestICRCKnownPackets pins two whole packets. Their check values were worked
// out outside this package, with zlib's crc32 over the masked bytes.
func TestICRCKnownPackets(t *testing.T) {
	const ackICRC4, ackICRC6 = 0x1092b1c3, 0x853740ea
	ack := unhex(t, "11 40 ffff 00 000011 00 123456 1f 000001")
	if got := ICRCPrefix4([4]byte{10, 0, 0, 1}, [4]byte{10, 0, 0, 2}, 49152, UDPPort, 20, 7).Headers(ack).Sum(); got != ackICRC4 {
		t.Errorf("IPv4 acknowledgement: ICRC %#010x, want %#010x", got, ackICRC4)
	}
	src, dst := [16]byte{0: 0xfd, 15: 1}, [16]byte{0: 0xfd, 15: 2}
	if got := ICRCPrefix6(src, dst, 49152, UDPPort, 20).Headers(ack).Sum(); got != ackICRC6 {
		t.Errorf("IPv6 acknowledgement: ICRC %#010x, want %#010x", got, ackICRC6)
	}
}

func TestICRCNoticesEveryBit(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for _, v6 := range []bool{false, true} {
		f := randomFlow(r, v6)
		h := randomHeaders(r, MPBit|WriteLastImm)
		b := append(h.Append(nil), randomPayload(r, 40)...)
		n := len(b) + ICRCLen
		want := f.prefix(n).Headers(b[:h.Len()]).Payload(b[h.Len():]).Sum()
		for bit := range 8 * len(b) {
			b[bit/8] ^= 1 << (bit % 8)
			got := f.prefix(n).Headers(b[:h.Len()]).Payload(b[h.Len():]).Sum()
			if masked := bit/8 == bthMaskedByte; (got == want) != masked {
				t.Errorf("bit %d of byte %d flipped: ICRC unchanged %v, masked %v", bit%8, bit/8, got == want, masked)
			}
			b[bit/8] ^= 1 << (bit % 8)
		}
		for name, other := range neighbours(f) {
			if other.prefix(n) == f.prefix(n) {
				t.Errorf("IPv6 %v: the ICRC does not cover the %s", v6, name)
			}
		}
		if f.prefix(n) == f.prefix(n+4) {
			t.Errorf("IPv6 %v: the ICRC does not cover the length", v6)
		}
	}
}

// neighbours returns flows that differ from f in one covered field each.
func neighbours(f flow) map[string]flow {
	sport, dport, src, dst := f, f, f, f
	sport.sport ^= 1
	dport.dport ^= 1
	src.src4[3], src.src6[15] = f.src4[3]^1, f.src6[15]^1
	dst.dst4[3], dst.dst6[15] = f.dst4[3]^1, f.dst6[15]^1
	flows := map[string]flow{"source port": sport, "destination port": dport, "source": src, "destination": dst}
	if !f.v6 {
		id := f
		id.id ^= 0x8000
		flows["identification"] = id
	}
	return flows
}

func TestICRCHeadersLeavesBytesAlone(t *testing.T) {
	h := Headers{BTH: BTH{Opcode: SendOnly, FECN: true, DestQP: 5}}
	b := h.Append(nil)
	before := string(b)
	ICRC(0).Headers(b)
	if string(b) != before {
		t.Errorf("bytes became %x, were %x", b, before)
	}
	for n := range BTHLen { // too short to be BTH, but no reason to panic
		ICRC(0).Headers(b[:n])
	}
}

func TestICRCStandsAtTheEnd(t *testing.T) {
	b := AppendICRC([]byte{9}, 0x01020304)
	if string(b) != "\x09\x04\x03\x02\x01" {
		t.Errorf("AppendICRC wrote %x, want little-endian", b)
	}
	if got := ICRCAt(b); got != 0x01020304 {
		t.Errorf("ICRCAt = %#x", got)
	}
	if got := ICRCAt(b[:3]); got != 0 {
		t.Errorf("ICRCAt of three bytes = %#x, want 0", got)
	}
}
