package perf

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/braid-rdma/braid/verbs"
)

// Limits bound what all clients together may have of a server, and for how long
// one may hold it without using it. Zero values stand for the defaults.
type Limits struct {
	// Sessions are the clients served at the same time: default 64, more than
	// measure anything but each other. A client counts once it is connected.
	Sessions int
	// Memory is what all sessions together may allocate, in bytes: default 2 GiB,
	// for a server that has other work too.
	Memory int64
	// Idle is how long a client may take to the next step of its test, and how
	// long no packet of a running test may arrive: default 30 s, longer than
	// the retries of a connection last with their default times.
	Idle time.Duration
}

// The defaults of Limits.
const (
	DefaultSessions = 64
	DefaultMemory   = 2 << 30
	DefaultIdle     = 30 * time.Second
)

// MemoryForOneClient is a Limits.Memory with which one client may run any test.
const MemoryForOneClient = sharesPerServer * (2*maxRegion + verbs.MaxCQDepth*queueEntryBytes)

// sharesPerServer says what one client address may have: this part of the
// sessions and of the memory. It takes several addresses to shut others out.
const sharesPerServer = 4

// queueEntryBytes is a bound of what an entry of a queue costs beside its message:
// the work request, its place in the completion queue, and what the transport
// remembers of it.
const queueEntryBytes = 512

func (l Limits) withDefaults() Limits {
	orDefault(&l.Sessions, DefaultSessions)
	orDefault(&l.Memory, DefaultMemory)
	orDefault(&l.Idle, DefaultIdle)
	return l
}

var (
	// ErrBusy is what a client gets that would exceed the limits of a server
	// now, though it might not later.
	ErrBusy = errors.New("the server is busy: try again later")
	// ErrIdle ends a client that does not use what it holds.
	ErrIdle = errors.New("the client was idle for too long")
)

// memory is a bound of what a test allocates at each end.
func (s *Spec) memory() int64 {
	regions := 2 * int64(s.QPs) * int64(newLayout(s).queuePairBytes())
	return regions + int64(s.QPs)*int64(s.TxDepth+s.recvDepth())*queueEntryBytes
}

// A budget is what a server has left of its limits.
type budget struct {
	limits Limits

	mu      sync.Mutex
	all     usage
	clients map[netip.Addr]usage // those that hold something
}

// usage is what somebody holds.
type usage struct {
	sessions int
	memory   int64
}

func newBudget(l Limits) *budget {
	return &budget{limits: l.withDefaults(), clients: map[netip.Addr]usage{}}
}

// A grant is what one session holds of a budget.
type grant struct {
	budget *budget
	client netip.Addr
	usage  usage
}

// enter grants a session to a client, or returns ErrBusy.
func (b *budget) enter(client netip.Addr) (*grant, error) {
	g := &grant{budget: b, client: client.Unmap()}
	return g, g.add(usage{sessions: 1})
}

// reserve grants memory to the session. ErrSpec says that it would exceed the
// limits of one client even if the server had nothing else to do.
func (g *grant) reserve(memory int64) error {
	if share := g.budget.limits.Memory / sharesPerServer; memory > share {
		return fmt.Errorf("%w: it needs %d MiB of the server's memory, and a client may have %d: use fewer or smaller messages, or start the server with --max-memory",
			ErrSpec, memory>>20, share>>20)
	}
	return g.add(usage{memory: memory})
}

// add takes more of the budget, or returns ErrBusy and takes nothing.
func (g *grant) add(more usage) error {
	b := g.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	all, client := b.all.plus(more), b.clients[g.client].plus(more)
	if !all.within(b.limits.Sessions, b.limits.Memory) ||
		!client.within(max(1, b.limits.Sessions/sharesPerServer), b.limits.Memory/sharesPerServer) {
		return ErrBusy
	}
	b.all, b.clients[g.client], g.usage = all, client, g.usage.plus(more)
	return nil
}

// release gives back what the session holds.
func (g *grant) release() {
	b := g.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	back := usage{sessions: -g.usage.sessions, memory: -g.usage.memory}
	b.all = b.all.plus(back)
	if left := b.clients[g.client].plus(back); left == (usage{}) {
		delete(b.clients, g.client)
	} else {
		b.clients[g.client] = left
	}
	g.usage = usage{}
}

func (u usage) plus(v usage) usage {
	return usage{sessions: u.sessions + v.sessions, memory: u.memory + v.memory}
}

func (u usage) within(sessions int, memory int64) bool {
	return u.sessions <= sessions && u.memory <= memory
}

// idleChecks is how often activity is looked at within the time that is allowed
// without any.
const idleChecks = 4

// watchIdle is a context that ends with ErrIdle as its cause when a counter of
// activity has stood still for a time.
func watchIdle(ctx context.Context, allowed time.Duration, activity func() uint64) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		ticker := time.NewTicker(max(allowed/idleChecks, 1))
		defer ticker.Stop()
		last, still := activity(), 0
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			now := activity()
			if still++; now != last {
				last, still = now, 0
			}
			if still >= idleChecks {
				cancel(fmt.Errorf("%w: nothing arrived for %v", ErrIdle, allowed))
			}
		}
	}()
	return ctx, func() { cancel(context.Canceled) }
}

// withinIdle is a context for one or more steps of a client, which end with ErrIdle
// as the cause when they take too long.
func withinIdle(ctx context.Context, allowed time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, allowed, fmt.Errorf("%w: no next step within %v", ErrIdle, allowed))
}

// causeOf is the error of a step, or ErrIdle if that is why the step ended.
func causeOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, ErrIdle) {
		return cause
	}
	return err
}
