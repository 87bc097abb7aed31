package udp

import (
	"net/netip"

	"github.com/braid-rdma/braid/wire"
)

// prefixCache keeps the ICRC over everything before BTH for one source port
// and destination. It depends on the packet's length, which hardly changes in
// a stream, and for standard packets on the IP identification, which is the
// packet's index within its segmented message.
type prefixCache struct {
	length int
	multi  wire.ICRC // multi-path packets: identification masked
	known  uint64    // which of single are computed
	single *[maxSegments]wire.ICRC
}

// forMulti is the prefix of a multi-path packet.
func (c *prefixCache) forMulti(f *flow, length int) wire.ICRC {
	if c.length != length {
		c.reset(f, length)
	}
	return c.multi
}

// forSingle is the prefix of a standard packet with the given identification.
func (c *prefixCache) forSingle(f *flow, length, id int) wire.ICRC {
	if c.length != length {
		c.reset(f, length)
	}
	if c.single == nil {
		c.single = new([maxSegments]wire.ICRC)
	}
	if c.known&(1<<id) == 0 {
		c.known |= 1 << id
		c.single[id] = f.prefix(length, uint16(id))
	}
	return c.single[id]
}

func (c *prefixCache) reset(f *flow, length int) {
	c.length, c.known = length, 0
	c.multi = f.prefix(length, wire.MPIdentification)
}

// flow is what the ICRC covers of the addresses.
type flow struct {
	src, dst     netip.Addr
	sport, dport uint16
}

func (f *flow) prefix(length int, id uint16) wire.ICRC {
	if f.src.Is4() {
		return wire.ICRCPrefix4(f.src.As4(), f.dst.As4(), f.sport, f.dport, length, id)
	}
	return wire.ICRCPrefix6(f.src.As16(), f.dst.As16(), f.sport, f.dport, length)
}

// checker checks the ICRC of what arrives. Packets of a run share source and
// length, so it remembers the last of each.
type checker struct {
	flow   flow
	length int
	multi  wire.ICRC
	single wire.ICRC // identification 0
	deltas [maxSegments]uint32
	known  uint64 // which of deltas are computed
	anyID  bool
}

func (c *checker) init(local netip.Addr, port uint16, anyID bool) {
	c.flow = flow{dst: local, dport: port}
	c.anyID = anyID
}

// valid says whether packet (a whole UDP payload, index-th of its run) carries
// the right ICRC. headers is the length of BTH and extension headers.
func (c *checker) valid(packet []byte, src netip.AddrPort, multi bool, index, headers int) bool {
	if len(packet) != c.length || src.Port() != c.flow.sport || src.Addr() != c.flow.src {
		c.flow.src, c.flow.sport = src.Addr(), src.Port()
		c.length, c.known = len(packet), 0
		c.multi = c.flow.prefix(len(packet), wire.MPIdentification)
		c.single = c.flow.prefix(len(packet), 0)
	}
	state := c.single
	if multi {
		state = c.multi
	}
	body := packet[:len(packet)-wire.ICRCLen]
	headers = min(headers, len(body))
	sum := state.Headers(body[:headers]).Payload(body[headers:]).Sum()
	syndrome := sum ^ wire.ICRCAt(packet)
	if syndrome == 0 {
		return true
	}
	if multi || !c.flow.src.Is4() {
		return false
	}
	return c.explained(syndrome, index)
}

// explained says whether an acceptable IP identification explains the
// syndrome of a standard packet.
func (c *checker) explained(syndrome uint32, index int) bool {
	if index < maxSegments {
		if c.known&(1<<index) == 0 {
			c.known |= 1 << index
			c.deltas[index] = wire.ICRCIDDelta(c.length, uint16(index))
		}
		if syndrome == c.deltas[index] {
			return true
		}
	}
	id, ok := wire.ICRCMatchID(syndrome, c.length)
	return ok && (c.anyID || id < maxSegments)
}
