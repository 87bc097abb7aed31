package loopnet

import "sync"

// broadcast wakes every thread that waits for news.
type broadcast struct {
	mu      sync.Mutex
	pending chan struct{} // closed by the next announcement; nil when nobody waits
}

// next is a channel that the next announcement closes. Who takes it before
// looking at the condition misses nothing.
func (b *broadcast) next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pending == nil {
		b.pending = make(chan struct{})
	}
	return b.pending
}

func (b *broadcast) announce() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pending != nil {
		close(b.pending)
		b.pending = nil
	}
}
