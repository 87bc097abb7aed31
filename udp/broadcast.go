//go:build linux

package udp

import "sync"

// broadcast wakes every thread that waits for news.
type broadcast struct {
	mu   sync.Mutex
	news chan struct{}
}

func newBroadcast() *broadcast { return &broadcast{news: make(chan struct{})} }

// next is a channel that the next announcement closes. Who takes it before
// looking at the condition misses nothing.
func (b *broadcast) next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.news
}

func (b *broadcast) announce() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.news)
	b.news = make(chan struct{})
}
