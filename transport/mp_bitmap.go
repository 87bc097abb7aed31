package transport

// slot is the state of one packet in the tracking bitmap (MP-RDMA §3.3.1).
type slot uint8

const (
	empty          slot = iota
	received            // arrived, not the last packet of its message
	tail                // arrived, the last packet of its message
	tailCompletion      // arrived, the last packet of a message that needs an action when the head reaches it
)

// bitmap tracks L packets from rcv_nxt on, two bits each, in a cyclic array. It
// takes no memory before the first packet comes out of order.
type bitmap struct {
	words []uint64
	mask  seq // L - 1, L being a power of two
}

// newBitmap makes a bitmap of slots packets. 64 slots take the 16 bytes of the
// paper's table 1.
func newBitmap(slots int) bitmap { return bitmap{mask: seq(slots - 1)} }

func (b *bitmap) at(s seq) slot {
	if b.words == nil {
		return empty
	}
	i := s & b.mask
	return slot(b.words[i/32]>>(i%32*2)) & 3
}

func (b *bitmap) set(s seq, v slot) {
	if b.words == nil {
		b.words = make([]uint64, b.mask/32+1)
	}
	i := s & b.mask
	shift := i % 32 * 2
	b.words[i/32] = b.words[i/32]&^(3<<shift) | uint64(v)<<shift
}
