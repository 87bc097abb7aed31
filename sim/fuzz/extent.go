package fuzz

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"sort"

	"github.com/braid-rdma/braid/verbs"
)

// operation is an operation under way, and what the model knows of it.
type operation struct {
	*opSpec
	index    int
	source   int     // offset of its bytes in the source of who posts it
	target   int     // offset of where they go: in the peer's window or sink, or the own sink
	remote   int     // offset in the peer's window that a READ or an atomic names
	message  int     // number of the receive that it takes; -1: none
	lease    *memory // a WRITE: where it goes instead of the window; a SEND: whose key it ends
	slot     *slot   // the shared receive that it took, when it has
	original uint64
	placed   int // bytes that have reached their target
	thought  bool
	ended    bool // it has completed, well or not
	failed   bool
	late     bool // it was posted when the connection had ended
}

// extent is a piece of memory that belongs to one operation.
type extent struct {
	offset, length int
	op             *operation
	writer         *end // whose operation writes here; nil: nobody does
}

// guard is what memory holds where nobody has business.
const guard = 0xa5

// margin is the memory before and after a region, which must stay as it is too.
const margin = 64

// memory is a region with the extents of its operations, apart from each other.
type memory struct {
	mr      *verbs.MR
	key     verbs.RKey // that peers know
	backing []byte
	before  []byte // as it was in the beginning
	size    int
	extents []extent
}

// reserve makes an extent that begins at a multiple of align.
func (m *memory) reserve(r *rand.Rand, length, align int, o *operation, writer *end) (offset int) {
	offset = m.size + 1 + r.IntN(8)
	offset += -offset & (align - 1)
	m.size = offset + length
	m.extents = append(m.extents, extent{offset, length, o, writer})
	return offset
}

// allocate makes the memory once all extents are known; those that nobody writes
// get random bytes.
func (m *memory) allocate(pd *verbs.PD, r *rand.Rand, rights verbs.Access) (err error) {
	m.size += 8
	m.backing = bytes.Repeat([]byte{guard}, m.size+2*margin)
	for _, x := range m.extents {
		if x.writer == nil {
			fill(r, m.backing[margin+x.offset:][:x.length])
		}
	}
	m.before = bytes.Clone(m.backing)
	m.mr, err = pd.RegisterMemory(m.backing[margin:margin+m.size:margin+m.size], rights)
	if err == nil {
		m.key = m.mr.RKey()
	}
	return err
}

// fill writes random bytes.
func fill(r *rand.Rand, b []byte) {
	for len(b) >= 8 {
		binary.LittleEndian.PutUint64(b, r.Uint64())
		b = b[8:]
	}
	for i := range b {
		b[i] = byte(r.Uint32())
	}
}

func (m *memory) at(offset, length int) []byte { return m.backing[margin+offset:][:length] }

// index returns the number of the extent that holds all of a span, or -1.
func (m *memory) index(offset, length int) int {
	i := sort.Search(len(m.extents), func(i int) bool { return m.extents[i].offset > offset }) - 1
	if i < 0 || offset+length > m.extents[i].offset+m.extents[i].length {
		return -1
	}
	return i
}

// find returns the extent that holds all of a span, or nil.
func (m *memory) find(offset, length int) *extent {
	if i := m.index(offset, length); i >= 0 {
		return &m.extents[i]
	}
	return nil
}

// untouched returns the first offset outside all extents that are written where
// the memory is no longer what it was, or -1.
func (m *memory) untouched() int {
	from := 0
	check := func(to int) int {
		if !bytes.Equal(m.backing[from:to], m.before[from:to]) {
			for i := from; i < to; i++ {
				if m.backing[i] != m.before[i] {
					return i - margin
				}
			}
		}
		return -1
	}
	for _, x := range m.extents {
		if x.writer == nil {
			continue
		}
		if bad := check(margin + x.offset); bad >= 0 {
			return bad
		}
		from = margin + x.offset + x.length
	}
	return check(len(m.backing))
}
