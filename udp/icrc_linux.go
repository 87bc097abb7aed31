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

// checker checks the ICRC of what arrives. What lies before BTH is computed
// once for each source and length that recur.
type checker struct {
	local  netip.Addr
	port   uint16
	anyID  bool
	recent [16]checkedFlow
}

// checkedFlow is the part of the check that packets of one source and length share.
type checkedFlow struct {
	src    netip.AddrPort
	length int
	multi  wire.ICRC
	single wire.ICRC // identification 0
	deltas *[maxSegments]uint32
	known  uint64 // which of deltas are computed
}

func (c *checker) init(local netip.Addr, port uint16, anyID bool) {
	c.local, c.port, c.anyID = local, port, anyID
}

// lookup returns the shared part, computing it when another one holds its place.
func (c *checker) lookup(src netip.AddrPort, length int) *checkedFlow {
	e := &c.recent[(uint(src.Port())^uint(length)>>2)%uint(len(c.recent))]
	if e.length != length || e.src != src {
		f := flow{src: src.Addr(), sport: src.Port(), dst: c.local, dport: c.port}
		e.src, e.length, e.known = src, length, 0
		e.multi = f.prefix(length, wire.MPIdentification)
		e.single = f.prefix(length, 0)
	}
	return e
}

// valid says whether packet (a whole UDP payload, index-th of its run) carries
// the right ICRC.
func (c *checker) valid(packet []byte, src netip.AddrPort, multi bool, index int) bool {
	f := c.lookup(src, len(packet))
	state := f.single
	if multi {
		state = f.multi
	}
	body := packet[:len(packet)-wire.ICRCLen]
	syndrome := state.Whole(body).Sum() ^ wire.ICRCAt(packet)
	if syndrome == 0 {
		return true
	}
	if multi || !src.Addr().Is4() {
		return false
	}
	return f.explains(syndrome, index) || c.explained(syndrome, len(packet))
}

// explains says whether the syndrome of a standard packet is what the
// identification does that braid gives to the index-th packet of a run.
func (f *checkedFlow) explains(syndrome uint32, index int) bool {
	if index >= maxSegments {
		return false
	}
	if f.deltas == nil {
		f.deltas = new([maxSegments]uint32)
	}
	if f.known&(1<<index) == 0 {
		f.known |= 1 << index
		f.deltas[index] = wire.ICRCIDDelta(f.length, uint16(index))
	}
	return syndrome == f.deltas[index]
}

// explained says whether another acceptable identification explains it.
func (c *checker) explained(syndrome uint32, length int) bool {
	id, ok := wire.ICRCMatchID(syndrome, length)
	return ok && (c.anyID || id < maxSegments)
}
