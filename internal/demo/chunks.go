package demo

import (
	"crypto/sha256"
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"

	"github.com/braid-rdma/braid/verbs"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// chunk is slot i of a region.
func chunk(region []byte, i uint64) []byte {
	slot := int(i % uint64(len(region)/chunkSize))
	return region[slot*chunkSize : (slot+1)*chunkSize]
}

// stamp writes a chunk's number into it, so that no two chunks of the stream
// are alike, and returns its checksum.
func stamp(c []byte, number uint64) uint32 {
	binary.LittleEndian.PutUint64(c, number)
	return crc32.Checksum(c, castagnoli)
}

// fillRandom fills memory with bytes that no other run has.
func fillRandom(b []byte) {
	var seed [32]byte
	for i := range seed {
		seed[i] = byte(rand.Uint32())
	}
	// Read of ChaCha8 never fails.
	_, _ = rand.NewChaCha8(seed).Read(b)
}

// digest is the SHA-256 of a whole region, safe beside the engine.
func digest(m *verbs.MR) ([]byte, error) {
	copied := make([]byte, m.Len())
	if err := m.Load(0, copied); err != nil {
		return nil, err
	}
	return digestOf(copied), nil
}

func digestOf(b []byte) []byte {
	sum := sha256.Sum256(b)
	return sum[:]
}
