package bundle

import (
	"encoding/binary"
	"fmt"
)

// hello is the private data by which the queue pairs of a connection find each other.
//
//	bytes   field
//	0-3     "bndl"
//	4       version, 1
//	5       index of the queue pair
//	6       queue pairs of the connection
//	7       zero
//	8-15    identifier of the connection, random
//	16-19   generation: 0, then counted with each replacement of this queue pair
type hello struct {
	index, count int
	id           uint64
	generation   uint32
}

const (
	helloLen     = 20
	helloMagic   = "bndl"
	helloVersion = 1
)

func (h *hello) encode() []byte {
	b := append(make([]byte, 0, helloLen), helloMagic...)
	b = append(b, helloVersion, byte(h.index), byte(h.count), 0)
	b = binary.BigEndian.AppendUint64(b, h.id)
	return binary.BigEndian.AppendUint32(b, h.generation)
}

func parseHello(b []byte, maxLanes int) (h hello, err error) {
	if len(b) < helloLen || string(b[:4]) != helloMagic || b[4] != helloVersion {
		return h, fmt.Errorf("%w: not a bundle's request", ErrProtocol)
	}
	h = hello{
		index: int(b[5]), count: int(b[6]), id: binary.BigEndian.Uint64(b[8:]),
		generation: binary.BigEndian.Uint32(b[16:]),
	}
	if h.count < 1 || h.count > maxLanes || h.index >= h.count {
		return h, fmt.Errorf("%w: queue pair %d of %d", ErrProtocol, h.index, h.count)
	}
	return h, nil
}
