package transport

import "github.com/braid-rdma/braid/wire"

// seq is a packet's place in its direction of an MP connection. The wire
// carries its low 24 bits as the PSN; inside, the full number spares every
// comparison from wrapping.
type seq uint64

// firstSeq places a first PSN high enough that windows reaching back before it
// stay positive.
func firstSeq(p wire.PSN) seq { return 1<<32 + seq(p) }

func (s seq) psn() wire.PSN { return wire.PSN(s) & wire.PSNMask }

// extend is the place with PSN p that is nearest to near.
func extend(p wire.PSN, near seq) seq {
	return seq(int64(near) + int64(p.Sub(near.psn())))
}
