package sim

import (
	"github.com/braid-rdma/braid/wire"
)

// load copies the payload into the packet, as a NIC would at this instant, and
// in wire mode makes bytes of it.
func (h *host) load(p *packet) {
	p.payload = p.payload[:0]
	for _, s := range p.Spans {
		p.payload = append(p.payload, s.Bytes()...)
	}
	if h.net.cfg.Wire {
		p.encode()
	}
}

// encode makes bytes of a packet that has its payload.
func (p *packet) encode() {
	p.Pad = wire.PadLen(p.Length)
	p.bytes = p.Headers.Append(p.bytes[:0])
	p.bytes = append(p.bytes, p.payload...)
	p.bytes = append(p.bytes, 0, 0, 0)[:len(p.bytes)+int(p.Pad)]
	p.bytes = wire.AppendICRC(p.bytes, p.icrc(len(p.bytes)))
}

// icrc computes the check value over the first n bytes and the addresses.
func (p *packet) icrc(n int) uint32 { return p.icrcOf(p.bytes[:n]) }

// icrcOf computes the check value that the packet has with these bytes.
func (p *packet) icrcOf(b []byte) uint32 {
	prefix := wire.ICRCPrefix4(hostAddr(int(p.src)).As4(), hostAddr(int(p.dst)).As4(), p.sport, roceUDPPort, len(b)+wire.ICRCLen, p.identification())
	return prefix.Whole(b).Sum()
}

// identification is the IP identification that the ICRC covers.
func (p *packet) identification() uint16 {
	if p.Opcode.IsMP() {
		return wire.MPIdentification
	}
	return 0
}

// parse reads the packet back from its bytes and says whether they are whole.
func (h *host) parse(p *packet) bool {
	n := len(p.bytes) - wire.ICRCLen
	if wire.ICRCAt(p.bytes) != p.icrc(n) {
		h.corrupt++
		return false
	}
	p.Headers = wire.Headers{} // what does not travel must not arrive
	payload, err := wire.ParseHeaders(p.bytes[:n], &p.Headers)
	if err != nil {
		h.strange++
		return false
	}
	p.Length = len(payload)
	p.payload = append(p.payload[:0], payload...)
	return true
}

// place copies the payload to where the transport says that it belongs.
func place(p *packet) {
	rest := p.payload
	for _, s := range p.Spans {
		rest = rest[copy(s.Bytes(), rest):]
	}
}
