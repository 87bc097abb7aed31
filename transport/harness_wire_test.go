package transport

import "github.com/braid-rdma/braid/wire"

// encodeAndParse sends a parcel through the wire format, as real bytes. With
// damage a bit of them is flipped, which the ICRC or the parser must notice.
// It returns whether the packet arrives.
func (h *host) encodeAndParse(c *parcel, damage bool) bool {
	c.encoded = appendWirePacket(c.encoded[:0], &c.headers, c.payload)
	if damage {
		bit := h.w.rng.IntN(8 * len(c.encoded))
		c.encoded[bit/8] ^= 1 << (bit % 8)
		damage = bit/8 != maskedByte
	}
	if !wirePacketIntact(c.encoded) {
		if !damage {
			h.fail("the ICRC of an undamaged packet does not match")
		}
		return false
	}
	var back wire.Headers
	payload, err := wire.ParseHeaders(c.encoded[:len(c.encoded)-wire.ICRCLen], &back)
	if damage {
		h.fail("a flipped bit went unnoticed: %v", err)
	}
	if err != nil {
		h.fail("what was sent does not parse: %v (%+v)", err, c.headers)
	}
	c.headers = back
	c.payload = append(c.payload[:0], payload...)
	return true
}

// appendWirePacket writes headers, payload, pad and ICRC after b.
func appendWirePacket(b []byte, h *wire.Headers, payload []byte) []byte {
	b = h.Append(b)
	b = append(b, payload...)
	b = append(b, make([]byte, h.Pad)...)
	return wire.AppendICRC(b, icrcOf(b))
}

// icrcOf is the check value of a packet between two fixed addresses.
func icrcOf(packet []byte) uint32 {
	prefix := wire.ICRCPrefix4([4]byte{10, 0, 0, 1}, [4]byte{10, 0, 0, 2}, 0xc000, wire.UDPPort, len(packet)+wire.ICRCLen, wire.MPIdentification)
	return prefix.Headers(packet).Sum()
}

// maskedByte is the byte of BTH that switches may change (FECN, BECN).
const maskedByte = 4

func wirePacketIntact(b []byte) bool {
	if len(b) < wire.BTHLen+wire.ICRCLen {
		return false
	}
	body := b[:len(b)-wire.ICRCLen]
	return wire.ICRCAt(b) == icrcOf(body)
}
