package bundle

import (
	"github.com/braid-rdma/braid/bundle/machine"
	"github.com/braid-rdma/braid/verbs"
)

// boxes are the connection's own memory: the receives of all lanes, and behind them the
// headers of chunks that are under way, one for each tag.
type boxes struct {
	mr      *verbs.MR
	depth   int // of a lane
	length  int
	headers int // offset of the first
}

// boxesOf says how many a lane has, and how long they are.
func boxesOf(cfg *Config) boxes {
	if !cfg.TwoSided {
		return boxes{depth: recvDepth, length: messageLen}
	}
	length := max(messageLen, machine.HeaderLen+cfg.twoSidedChunk())
	return boxes{depth: max(minBoxes, min(recvDepth, boxBytes/(length*cfg.QueuePairs))), length: length}
}

// bytes is the memory for a number of lanes and tags.
func (b *boxes) bytes(lanes, tags int) int {
	b.headers = lanes * b.depth * b.length
	return b.headers + tags*machine.HeaderLen
}

// at is the memory of a receive.
func (b *boxes) at(box int) []byte { return b.mr.Bytes()[box*b.length:][:b.length] }

// putHeader writes the header of a chunk to where it is sent from.
func (b *boxes) putHeader(tag machine.Tag, h *machine.Header) verbs.SGE {
	offset := b.headers + int(tag)*machine.HeaderLen
	h.Append(b.mr.Bytes()[offset:offset])
	return b.mr.SGE(offset, machine.HeaderLen)
}
