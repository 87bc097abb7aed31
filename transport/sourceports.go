package transport

import "math/rand/v2"

// sourcePorts says which source port each virtual path takes. Path i begins with
// port i; probing moves a path to a random one of all ports (MP-RDMA §3.5: "a new
// random VP"), which another path may be using too. The peer knows a path by its
// number alone, so a move needs no word to it.
type sourcePorts struct {
	total int      // ports of the engine
	moved []uint16 // by path; nil: none has moved
}

// of is the source port of a path.
func (s *sourcePorts) of(p Path) uint16 {
	if s.moved == nil {
		return uint16(p)
	}
	return s.moved[p]
}

// spare says whether there are more ports than paths.
func (s *sourcePorts) spare(paths int) bool { return s.total > paths }

// move gives a path a random port.
func (s *sourcePorts) move(p Path, paths int, r *rand.Rand) {
	if s.moved == nil {
		s.moved = make([]uint16, paths)
		for i := range s.moved {
			s.moved[i] = uint16(i)
		}
	}
	s.moved[p] = uint16(r.IntN(s.total))
}
