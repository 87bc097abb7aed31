package verbs

import (
	"fmt"
	"math/rand/v2"

	"github.com/braid-rdma/braid/transport"
)

// SetPolicy swaps the path policy of a connected MP queue pair while data
// moves; a constructor of package transport, or the program's own, makes it.
func (q *QP) SetPolicy(newPolicy func(paths int, o *MPOptions, r *rand.Rand) transport.PathPolicy) error {
	return q.withMP(func(m transport.MultiPath) {
		o := m.Options()
		m.SetPolicy(newPolicy(m.Attr().Paths, &o, q.device.newRand()))
	})
}

// SetCongestionControl swaps the congestion control of a connected MP queue
// pair while data moves.
func (q *QP) SetCongestionControl(newControl func(o *MPOptions) transport.CongestionControl) error {
	return q.withMP(func(m transport.MultiPath) {
		o := m.Options()
		m.SetCongestionControl(newControl(&o))
	})
}

// withMP runs f on a connected multi-path queue pair.
func (q *QP) withMP(f func(transport.MultiPath)) error {
	if err := q.lock(); err != nil {
		return err
	}
	defer q.loop.Unlock()
	m, ok := q.transport.(transport.MultiPath)
	if !ok {
		return fmt.Errorf("%w: only MP queue pairs have paths and a window to choose", ErrParams)
	}
	if s := m.State(); s != RTS && s != SQD {
		return fmt.Errorf("%w: %v; the queue pair is not connected", ErrState, s)
	}
	f(m)
	q.loop.Kick(m)
	return nil
}
