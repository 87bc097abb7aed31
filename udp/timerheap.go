//go:build linux

package udp

import "github.com/braid-rdma/braid/transport"

// timerHeap orders ports by deadline. A port that has none is not in it.
type timerHeap []*port

// next is the earliest deadline, or Never.
func (h timerHeap) next() transport.Time {
	if len(h) == 0 {
		return transport.Never
	}
	return h[0].deadline
}

// set gives a port a new deadline; Never takes it out.
func (h *timerHeap) set(p *port, at transport.Time) {
	if p.index < 0 {
		if at == transport.Never {
			return
		}
		p.deadline, p.index = at, len(*h)
		*h = append(*h, p)
		h.up(p.index)
		return
	}
	if at == transport.Never {
		h.remove(p)
		return
	}
	earlier := at < p.deadline
	p.deadline = at
	if earlier {
		h.up(p.index)
	} else {
		h.down(p.index)
	}
}

func (h *timerHeap) remove(p *port) {
	i, last := p.index, len(*h)-1
	if i < 0 {
		return
	}
	h.swap(i, last)
	(*h)[last] = nil
	*h = (*h)[:last]
	p.index = -1
	if i < last {
		h.up(i)
		h.down(i)
	}
}

func (h timerHeap) swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h timerHeap) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if h[parent].deadline <= h[i].deadline {
			return
		}
		h.swap(i, parent)
		i = parent
	}
}

func (h timerHeap) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(h) {
			return
		}
		if child+1 < len(h) && h[child+1].deadline < h[child].deadline {
			child++
		}
		if h[i].deadline <= h[child].deadline {
			return
		}
		h.swap(i, child)
		i = child
	}
}
