// Package broadcast wakes every goroutine that waits for news.
//
//	wait := b.Next()      // before looking at the condition
//	if !ready() {
//		<-wait            // closed by the next Announce
//	}
package broadcast

import "sync"

// Broadcast is ready for use as its zero value.
type Broadcast struct {
	mu      sync.Mutex
	pending chan struct{} // closed by the next announcement; nil while nobody waits
}

// Next is a channel that the next announcement closes. Who takes it before
// looking at the condition misses nothing.
func (b *Broadcast) Next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pending == nil {
		b.pending = make(chan struct{})
	}
	return b.pending
}

// Announce wakes all who wait. It costs next to nothing while nobody does.
func (b *Broadcast) Announce() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pending != nil {
		close(b.pending)
		b.pending = nil
	}
}
