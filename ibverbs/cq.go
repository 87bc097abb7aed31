//go:build ibverbs && linux && cgo

package ibverbs

// #include "glue.h"
import "C"

import "fmt"

// sharedCQ is a completion queue of the NIC, which many queue pairs share: the queues
// that programs poll are those of verbs. It has room for every request of its queue
// pairs, so that it cannot overflow.
type sharedCQ struct {
	cq   *C.struct_ibv_cq
	size int
	used int
}

// reserveCQ finds a completion queue with room for so many requests.
func (e *engine) reserveCQ(requests int) (*sharedCQ, error) {
	for _, c := range e.cqs {
		if c.size-c.used >= requests {
			c.used += requests
			return c, nil
		}
	}
	limit := int(e.adapter.limits.max_cqe)
	if requests > limit {
		return nil, fmt.Errorf("ibverbs: queues of %d requests: completion queues of this device hold %d", requests, limit)
	}
	size := min(max(requests, cqSize), limit)
	cq, err := C.ibv_create_cq(e.adapter.context, C.int(size), nil, e.channel, 0)
	if cq == nil {
		return nil, fmt.Errorf("ibverbs: create a completion queue of %d: %w", size, err)
	}
	if code := C.braid_arm(cq); code != 0 {
		C.ibv_destroy_cq(cq)
		return nil, explain("ask for events", code)
	}
	c := &sharedCQ{cq: cq, size: size, used: requests}
	e.cqs = append(e.cqs, c)
	return c, nil
}
