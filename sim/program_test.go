package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/braid-rdma/braid/internal/sched"
)

// scheduled is a network of two hosts, the first one's runtime, and what happened when.
type scheduled struct {
	t   *testing.T
	net *Network
	rt  sched.Runtime
	log []string
}

func newScheduled(t *testing.T) *scheduled {
	t.Helper()
	n := newNetwork(t, leafSpine(2, 1, 1), Config{Seed: 1})
	return &scheduled{t: t, net: n, rt: sched.Of(n.Device(0).Engine())}
}

func (s *scheduled) say(format string, args ...any) {
	s.log = append(s.log, fmt.Sprintf("%v: %s", s.net.Now(), fmt.Sprintf(format, args...)))
}

func (s *scheduled) want(log ...string) {
	s.t.Helper()
	if !slices.Equal(s.log, log) {
		s.t.Errorf("got\n%s\nwant\n%s", strings.Join(s.log, "\n"), strings.Join(log, "\n"))
	}
}

// TestGoroutines: goroutines of a host run one after another, each until it waits, and time passes
// only while all of them do.
func TestGoroutines(t *testing.T) {
	s := newScheduled(t)
	done := make(chan struct{})
	s.net.hosts[0].Go(func() {
		s.say("first begins")
		s.rt.Go(func() {
			s.say("third begins")
			s.net.Sleep(0, 3*Microsecond)
			close(done)
		})
		s.rt.Select(t.Context(), nil, done)
		s.say("first goes on")
	})
	s.net.hosts[0].Go(func() {
		s.say("second begins")
		ctx, cancel := s.rt.WithTimeout(t.Context(), 2*time.Microsecond)
		defer cancel()
		if s.rt.Select(ctx, done) != sched.Ended || !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			t.Error("the wait did not end with its context")
		}
		s.say("second has waited")
	})
	s.net.Run(Second)
	s.want("0.000 ns: first begins", "0.000 ns: second begins", "0.000 ns: third begins",
		"2.000 µs: second has waited", "3.000 µs: first goes on")
	if n := len(s.net.hosts[0].programs.all); n != 0 {
		t.Errorf("%d goroutines are left", n)
	}
}

// TestTimersOfPrograms: a timer that is set again fires once, one that is stopped not at all.
func TestTimersOfPrograms(t *testing.T) {
	s := newScheduled(t)
	again, stopped := s.rt.NewTimer(func() { s.say("again") }), s.rt.NewTimer(func() { s.say("stopped") })
	again.Reset(time.Microsecond)
	again.Reset(5 * time.Microsecond)
	stopped.Reset(time.Microsecond)
	stopped.Stop()
	s.net.Run(Second)
	s.want("5.000 µs: again")
}

// TestGroupsOfPrograms: a program waits for the goroutines of a group, also one that is not a
// goroutine of the host but runs the simulation itself.
func TestGroupsOfPrograms(t *testing.T) {
	s := newScheduled(t)
	group := sched.Group{Runtime: s.rt}
	values := make(chan int, 1)
	group.Go(func() {
		s.net.Sleep(0, Microsecond)
		values <- 7
	})
	if v, ok := sched.Receive(t.Context(), s.rt, values, nil); v != 7 || !ok {
		t.Errorf("received %d, %v", v, ok)
	}
	group.Wait()
	s.say("done")
	s.want("1.000 µs: done")
}

// TestKill: the goroutines of a host that dies end where they are, and no other begins.
func TestKill(t *testing.T) {
	s := newScheduled(t)
	s.net.hosts[0].Go(func() {
		defer func() {
			s.say("unwound")
			s.rt.Select(t.Context())
			t.Error("it waits though it is dead")
		}()
		s.rt.Select(t.Context())
		t.Error("it goes on")
	})
	if err := s.net.At(Microsecond, 1, func() { s.net.Kill(0) }); err != nil {
		t.Fatal(err)
	}
	if err := s.net.At(2*Microsecond, 0, func() { s.rt.Go(func() { t.Error("it begins") }) }); err != nil {
		t.Fatal(err)
	}
	s.net.Run(Second)
	s.want("1.000 µs: unwound")
}

// TestPanicOfProgram: a panic of a goroutine is one of the simulation, with the place where it was.
func TestPanicOfProgram(t *testing.T) {
	s := newScheduled(t)
	s.net.hosts[0].Go(func() { panicHere(nil) })
	defer func() {
		if text := fmt.Sprint(recover()); !strings.Contains(text, "nil map") || !strings.Contains(text, "panicHere") {
			t.Errorf("panic: %s", text)
		}
	}()
	s.net.Run(Second)
}

func panicHere(m map[int]int) { m[1] = 1 }

// TestProgramsThatDoNotRest: a program that goes on for ever in no time is found.
func TestProgramsThatDoNotRest(t *testing.T) {
	s := newScheduled(t)
	s.net.hosts[0].Go(func() {
		for turn := 0; ; turn++ {
			asked := false
			_ = s.net.hosts[0].Wait(t.Context(), func() bool { was := asked; asked = true; return was })
		}
	})
	defer func() {
		if text := fmt.Sprint(recover()); !strings.Contains(text, "do not come to rest") {
			t.Errorf("panic: %s", text)
		}
		s.net.Kill(0)
	}()
	s.net.Run(Second)
}
