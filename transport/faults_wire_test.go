package transport

import (
	"testing"

	"github.com/braid-rdma/braid/wire"
)

var wireRows = []faultRow{
	{"row11_bit_flips", testBitFlips},
	{"row12_masked_bits", testMaskedBits},
	{"row13_truncation", testTruncation},
}

// wireSamples are packets as they cross the network, one of each opcode that a
// mixed run of both kinds of queue pair produces.
func wireSamples(t *testing.T) [][]byte {
	t.Helper()
	var samples [][]byte
	for _, rc := range []bool{false, true} {
		sc := bulk(60, 0)
		sc.kinds, sc.maxSize, sc.attr[0].MTU, sc.attr[1].MTU = allKinds, 3000, 256, 256
		if rc {
			sc.asRC()
		}
		seen := [256]bool{}
		mustRun(t, sc, func(w *world) {
			w.filter = func(_ *host, p *Packet) int {
				if !seen[p.Opcode] {
					seen[p.Opcode] = true
					var payload []byte
					for _, s := range p.Spans {
						payload = append(payload, s.Bytes()...)
					}
					samples = append(samples, appendWirePacket(nil, &p.Headers, payload))
				}
				return 1
			}
		})
	}
	if len(samples) < 30 {
		t.Fatalf("only %d opcodes were seen", len(samples))
	}
	return samples
}

// parses says whether a datagram gets as far as a queue pair.
func parses(b []byte) bool {
	var h wire.Headers
	if !wirePacketIntact(b) {
		return false
	}
	_, err := wire.ParseHeaders(b[:len(b)-wire.ICRCLen], &h)
	return err == nil
}

func testBitFlips(t *testing.T) {
	for _, b := range wireSamples(t) {
		if !parses(b) {
			t.Fatalf("undamaged packet refused: %x", b)
		}
		for bit := range 8 * len(b) {
			if bit/8 == maskedByte {
				continue
			}
			b[bit/8] ^= 1 << (bit % 8)
			if parses(b) {
				t.Errorf("flipped bit %d of %v went unnoticed", bit, wire.Opcode(b[0]))
			}
			b[bit/8] ^= 1 << (bit % 8)
		}
	}
}

// testMaskedBits: what switches may change does not spoil a packet. (Type of
// service and time to live lie outside; package wire masks them in the prefix.)
func testMaskedBits(t *testing.T) {
	for _, b := range wireSamples(t) {
		for bit := range 8 {
			b[maskedByte] ^= 1 << bit
			if !parses(b) {
				t.Errorf("%v refused for bit %d of the masked byte", wire.Opcode(b[0]), bit)
			}
			b[maskedByte] ^= 1 << bit
		}
	}
}

// testTruncation cuts at every byte, and repairs the check value, so that the
// parser and the queue pair face the rest; nothing panics.
func testTruncation(t *testing.T) {
	for _, b := range wireSamples(t) {
		for n := range len(b) {
			if parses(b[:n]) {
				t.Errorf("%v cut to %d bytes went unnoticed", wire.Opcode(b[0]), n)
			}
			if n < wire.BTHLen {
				continue
			}
			body := append([]byte(nil), b[:n]...)
			repaired := wire.AppendICRC(body, icrcOf(body))
			var p Packet
			payload, err := wire.ParseHeaders(repaired[:n], &p.Headers)
			if err != nil {
				continue
			}
			p.Length = len(payload)
			for _, sc := range []*scenario{bulk(1, 10), bulk(1, 10).asRC()} {
				w := newWorld(sc)
				p.Spans = p.Spans[:0]
				w.hosts[1].qp.HandlePacket(w.now, &p)
			}
		}
	}
}
