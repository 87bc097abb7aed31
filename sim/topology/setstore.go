package topology

import (
	"encoding/binary"
	"slices"
)

// A setStore numbers sets of ports and keeps each set once. Number zero is the
// empty set.
type setStore struct {
	sets    [][]uint16
	numbers map[string]uint32 // by the set's ports, two bytes each
	key     []byte
}

func newSetStore() *setStore {
	return &setStore{sets: [][]uint16{nil}, numbers: map[string]uint32{"": 0}}
}

// number returns the number of the set that holds these ports, which the caller
// gives in ascending order and keeps.
func (s *setStore) number(ports []uint16) uint32 {
	s.key = s.key[:0]
	for _, p := range ports {
		s.key = binary.LittleEndian.AppendUint16(s.key, p)
	}
	number, known := s.numbers[string(s.key)]
	if !known {
		number = uint32(len(s.sets))
		s.numbers[string(s.key)] = number
		s.sets = append(s.sets, slices.Clip(slices.Clone(ports)))
	}
	return number
}
