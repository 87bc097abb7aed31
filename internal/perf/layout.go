package perf

import (
	"encoding/binary"
	"hash/crc64"

	"github.com/braid-rdma/braid/verbs"
)

const (
	// slotBudget is how much memory the messages of one queue pair go through
	// in turn: enough that neighbours do not touch the same bytes, and little
	// enough to stay in the processor's cache, as perftest's single buffer does.
	slotBudget = 256 << 10
	// slotAlign keeps slots on cache lines of their own and aligns atomics.
	slotAlign = 64
)

// layout says where in a region each message lives: every queue pair has its
// own slots, and its messages take them in turn.
type layout struct {
	size   int
	stride int
	slots  int
}

func newLayout(s *Spec) layout {
	stride := (s.Size + slotAlign - 1) &^ (slotAlign - 1)
	return layout{size: s.Size, stride: stride, slots: min(max(1, slotBudget/stride), s.TxDepth)}
}

func (l layout) queuePairBytes() int { return l.slots * l.stride }

// offset is the place of message number n of a queue pair.
func (l layout) offset(queuePair int, n uint64) int {
	return (queuePair*l.slots + int(n%uint64(l.slots))) * l.stride
}

// used is how many slots hold data after n messages.
func (l layout) used(n uint64) int { return int(min(n, uint64(l.slots))) }

var crcTable = crc64.MakeTable(crc64.ECMA)

// checksum covers the slots that were used, given the messages of each queue pair.
func (l layout) checksum(m *verbs.MR, messages []uint64) (uint64, error) {
	var sum uint64
	slot := make([]byte, l.size)
	for queuePair, n := range messages {
		for i := range l.used(n) {
			if err := m.Load(l.offset(queuePair, uint64(i)), slot); err != nil {
				return 0, err
			}
			sum = crc64.Update(sum, crcTable, slot)
		}
	}
	return sum, nil
}

// fillPattern fills memory with bytes that differ from slot to slot and from
// seed to seed (splitmix64), so that a message in the wrong place is found.
func fillPattern(b []byte, seed uint64) {
	for len(b) >= 8 {
		seed += 0x9e3779b97f4a7c15
		z := (seed ^ seed>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		binary.LittleEndian.PutUint64(b, z^z>>31)
		b = b[8:]
	}
	for i := range b {
		b[i] = byte(seed) + byte(i)
	}
}
