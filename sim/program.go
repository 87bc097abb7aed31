package sim

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
	"time"

	"github.com/braid-rdma/braid/internal/sched"
)

// Programs of a host may have goroutines, as they have on a machine. Each is a coroutine: it runs
// while the simulation stands still, until it waits, and goes on in an event in which what it waits
// for has come. So programs take no virtual time and run in an order that the seed decides.

var _ sched.Scheduler = (*host)(nil)

// errKilled ends the goroutines of a host that dies.
var errKilled = errors.New("sim: the host is dead")

// maxTurns is how often goroutines of a host may go on at one instant: far more than a program
// needs that does something each time.
const maxTurns = 1 << 20

// programs are the goroutines of a host, in the order in which they have begun.
type programs struct {
	all     []*goroutine
	current *goroutine
	waking  bool // an event is pending that lets them go on, or happens
	wake    call
	dead    bool
}

// goroutine is one that waits, or runs while it is the current one.
type goroutine struct {
	resume func() (struct{}, bool)
	stop   func()
	yield  func(struct{}) bool
	ready  func() bool // nil: it has not begun
	ctx    context.Context
	err    error // of its wait
	ended  bool
	panics any
}

// Go starts a program on a host, as a goroutine of it. The program's own goroutines and timers
// come from package braid and cm, which know that they are in a simulation.
func (n *Network) Go(host int, f func()) error {
	if host < 0 || host >= len(n.hosts) {
		return fmt.Errorf("%w: there is no host %d of %d", ErrConfig, host, len(n.hosts))
	}
	n.undivide()
	n.hosts[host].Go(f)
	return nil
}

// Sleep lets a program of a host wait for a time.
func (n *Network) Sleep(host int, d Time) {
	h, done := n.hosts[host], false
	h.call(h.now()+d, func() {
		done = true
		h.Wake()
	})
	_ = h.Wait(context.Background(), func() bool { return done }) // it has no end
}

// Kill ends the programs of a host where they are, at once and without a word to anybody, and
// lets none begin. Its network adapter lives on: cut its links as well.
func (n *Network) Kill(host int) {
	p := n.hosts[host].ownPrograms()
	p.dead = true
	for _, g := range p.all {
		p.current = g // what it has deferred must not wait either
		g.stop()
	}
	p.all, p.current = nil, nil
}

// ownPrograms is the place for goroutines of the host.
func (h *host) ownPrograms() *programs {
	if h.programs == nil {
		h.programs = &programs{}
		h.programs.wake.f = h.runPrograms
	}
	return h.programs
}

// Go implements sched.Scheduler.
func (h *host) Go(f func()) {
	p := h.ownPrograms()
	if p.dead {
		return
	}
	g := &goroutine{}
	g.resume, g.stop = iter.Pull(func(yield func(struct{}) bool) {
		g.yield = yield
		defer g.finish()
		f()
	})
	p.all = append(p.all, g)
	h.Wake()
}

// finish notes how a goroutine has ended.
func (g *goroutine) finish() {
	g.ended = true
	switch r := recover().(type) {
	case nil:
	case error:
		if !errors.Is(r, errKilled) {
			g.panics = fmt.Sprintf("%v\n%s", r, debug.Stack())
		}
	default:
		g.panics = r
	}
}

// After implements sched.Scheduler.
func (h *host) After(d time.Duration, f func()) (stop func()) {
	stopped := false
	if at := h.now() + Time(d)*Nanosecond; d < time.Duration((never-h.now())/Nanosecond) {
		h.call(max(at, h.now()), func() {
			if !stopped {
				h.Go(f)
			}
		})
	}
	return func() { stopped = true }
}

// Clock implements sched.Scheduler.
func (h *host) Clock() time.Time { return time.Unix(0, int64(h.now()/Nanosecond)) }

// Wait implements sched.Scheduler. A program that is no goroutine of the host, but runs the
// simulation, lets it go on.
func (h *host) Wait(ctx context.Context, ready func() bool) error {
	if h.programs == nil || h.programs.current == nil {
		return h.stepUntil(ctx, ready)
	}
	if ready() {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	g := h.programs.current
	g.ready, g.ctx = ready, ctx
	if !g.yield(struct{}{}) {
		panic(errKilled)
	}
	return g.err
}

func (h *host) stepUntil(ctx context.Context, ready func() bool) error {
	for n := 0; !ready(); n++ {
		if n%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if !h.net.step() {
			return fmt.Errorf("%w, and what the program waits for has not", ErrIdle)
		}
	}
	return nil
}

// Wake implements verbs.Engine: goroutines look again whether what they wait for has come.
func (h *host) Wake() {
	if p := h.programs; p != nil && !p.waking && len(p.all) > 0 {
		p.waking = true
		h.callAgain(h.now(), &p.wake)
	}
}

// runPrograms lets goroutines run until all of them wait.
func (h *host) runPrograms() {
	p := h.programs
	for turns, ran := 0, true; ran; {
		ran = false
		for i := 0; i < len(p.all); i++ { // one that runs may start others
			g := p.all[i]
			if g.ended || !g.mayRun() {
				continue
			}
			if turns++; turns > maxTurns {
				panic(fmt.Sprintf("sim: the programs of host %d do not come to rest", h.number))
			}
			ran = true
			p.run(g)
		}
	}
	p.forgetEnded()
	p.waking = false
}

// mayRun says whether what a goroutine waits for has come.
func (g *goroutine) mayRun() bool {
	if g.ready == nil || g.ready() {
		g.err = nil
		return true
	}
	g.err = g.ctx.Err()
	return g.err != nil
}

func (p *programs) run(g *goroutine) {
	p.current = g
	g.resume()
	p.current = nil
	if g.panics != nil {
		panic(g.panics)
	}
}

func (p *programs) forgetEnded() {
	kept := p.all[:0]
	for _, g := range p.all {
		if !g.ended {
			kept = append(kept, g)
		}
	}
	clear(p.all[len(kept):])
	p.all = kept
}
