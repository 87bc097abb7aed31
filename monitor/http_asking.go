package monitor

import (
	"context"
	"net/http"
	"sync"
	"time"
)

const (
	// askedAtOnce is how many questions of all pages are with agents, and askedOfHost with one of them: half of what it takes, so that
	// tools of the command line find room as well.
	askedAtOnce = 64
	askedOfHost = maxQuestions / 2
	// maxShared is how many replies are waited for or fresh.
	maxShared = 1000
)

// asking bounds what pages ask of agents: pages that look at the same thing share a reply, and others wait for their turn.
type asking struct {
	page *Page
	ctx  context.Context // that of questions, which many pages may wait for
	stop context.CancelFunc
	all  chan struct{}

	mu     sync.Mutex
	hosts  map[string]chan struct{}
	shared map[string]*sharedReply
}

// sharedReply is a reply that is on its way, or has just come.
type sharedReply struct {
	done   chan struct{}
	result any
	err    error
	until  time.Time // when it is old; zero: it has not come
}

func newAsking(p *Page) *asking {
	ctx, stop := context.WithCancel(context.Background())
	return &asking{page: p, ctx: ctx, stop: stop, all: make(chan struct{}, askedAtOnce), hosts: map[string]chan struct{}{}, shared: map[string]*sharedReply{}}
}

// end ends all questions; no other begins.
func (a *asking) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stop()
}

// turn waits until a question may go to a host, and returns what ends it.
func (a *asking) turn(ctx context.Context, host string) (func(), error) {
	a.mu.Lock()
	mine := a.hosts[host]
	if mine == nil {
		mine = make(chan struct{}, askedOfHost)
		a.hosts[host] = mine
	}
	a.mu.Unlock()
	for _, room := range []chan struct{}{mine, a.all} { // always in this order
		select {
		case room <- struct{}{}:
		case <-ctx.Done():
			if room == a.all {
				<-mine
			}
			return nil, fail(http.StatusServiceUnavailable, "%s: too many pages ask at the same time", host)
		}
	}
	return func() { <-a.all; <-mine }, nil
}

// share gets what a key stands for, once for all who want it within a time.
func (a *asking) share(ctx context.Context, key string, fresh time.Duration, get func(context.Context) (any, error)) (any, error) {
	a.mu.Lock()
	a.forget(time.Now())
	s := a.shared[key]
	if a.ctx.Err() != nil {
		a.mu.Unlock()
		return nil, fail(http.StatusServiceUnavailable, "the page ends")
	}
	if s == nil && len(a.shared) >= maxShared {
		a.mu.Unlock()
		return nil, fail(http.StatusServiceUnavailable, "too many pages ask at the same time")
	}
	if s == nil {
		s = &sharedReply{done: make(chan struct{})}
		a.shared[key] = s
		a.page.running.Go(func() {
			result, err := get(a.ctx)
			a.mu.Lock()
			s.result, s.err, s.until = result, err, time.Now().Add(fresh)
			a.mu.Unlock()
			close(s.done)
		})
	}
	a.mu.Unlock()
	select {
	case <-s.done:
		return s.result, s.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// forget drops what is old; the lock is held.
func (a *asking) forget(now time.Time) {
	for key, s := range a.shared {
		if !s.until.IsZero() && now.After(s.until) {
			delete(a.shared, key)
		}
	}
}
