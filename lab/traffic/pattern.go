package traffic

import (
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
)

// A message begins with its number; the rest is the pattern of its slot, which
// is the number modulo the depth. Whoever knows size and depth knows every byte.
const numberBytes = 8

// patternSeed makes sender and receiver draw the same patterns.
const patternSeed = 0x6272616964

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// fillPattern writes the pattern of a slot into its memory.
func fillPattern(slot []byte, number int) {
	r := rand.New(rand.NewPCG(patternSeed, uint64(number)))
	for i := numberBytes; i+8 <= len(slot); i += 8 {
		binary.LittleEndian.PutUint64(slot[i:], r.Uint64())
	}
}

// stamp numbers a message.
func stamp(slot []byte, number uint64) { binary.LittleEndian.PutUint64(slot, number) }

// checker knows what is to arrive.
type checker struct {
	size  int
	sums  []uint32 // of the patterns of the slots
	next  uint64   // the number of the next message
	wrong uint64   // messages that came with wrong bytes or out of order
}

func newChecker(size, depth int) *checker {
	c := &checker{size: size, sums: make([]uint32, depth)}
	slot := make([]byte, size)
	for i := range c.sums {
		clear(slot)
		fillPattern(slot, i)
		c.sums[i] = crc32.Checksum(slot[numberBytes:], castagnoli)
	}
	return c
}

// arrived checks a message.
func (c *checker) arrived(message []byte) {
	number := c.next
	c.next++
	if len(message) != c.size || binary.LittleEndian.Uint64(message) != number ||
		crc32.Checksum(message[numberBytes:], castagnoli) != c.sums[number%uint64(len(c.sums))] {
		c.wrong++
	}
}
