package transport

import (
	"math/rand/v2"
	"testing"
)

// Steering: the ACK clock of a connection that evens out paths without congestion.

// steered makes an ACK clock that sees the loads in the map.
func steered(paths, run int, loads map[Path]int) *ackClock {
	o := PaperOptions()
	o.Run, o.Rebalance = run, true
	a := NewAckClock(paths, &o, rand.New(rand.NewPCG(5, 6))).(*ackClock)
	a.ObserveLoad(fixedLoad{loads, 1024})
	return a
}

// fixedLoad is the load of paths and the size of packets.
type fixedLoad struct {
	packets map[Path]int
	size    int
}

func (l fixedLoad) InFlight(p Path) int { return l.packets[p] }
func (l fixedLoad) PacketSize() int     { return l.size }

// clockedTo releases n packets by acknowledgements of one path and counts where they go.
func clockedTo(a *ackClock, path Path, n int) map[Path]int {
	a.Feedback(path, Good, n)
	return take(a, n)
}

// A path without load gets whole runs of what a busy one is due, and no more
// than about a third of it.
func TestSteeringFeedsTheIdlePath(t *testing.T) {
	a := steered(2, 8, map[Path]int{0: 100, 1: 0})
	uses := clockedTo(a, 0, 800)
	if uses[1] < 240 || uses[1] > 320 {
		t.Errorf("of 800 packets %d went to the idle path, want about a third", uses[1])
	}
	a = steered(2, 8, map[Path]int{0: 100, 1: 0})
	a.Feedback(0, Good, 800)
	run := 0
	for range 800 {
		if a.Next() == 1 {
			run++
			continue
		}
		if run%8 != 0 {
			t.Fatalf("a run of %d packets, want whole ones of 8", run)
		}
		run = 0
	}
}

// Paths of similar load keep what their acknowledgements release.
func TestSteeringLeavesBalancedPathsAlone(t *testing.T) {
	a := steered(2, 8, map[Path]int{0: 100, 1: 60})
	if uses := clockedTo(a, 0, 400); uses[0] != 400 {
		t.Errorf("packets left a path that is not twice as busy: %v", uses)
	}
}

// A path that was marked, slow or lossy gets nothing by steering until enough
// of its packets did well.
func TestSteeringAvoidsTroubledPaths(t *testing.T) {
	for _, bad := range []Signal{Marked, Slow, Nacked} {
		a := steered(2, 8, map[Path]int{0: 100, 1: 0})
		a.Feedback(1, bad, 0)
		if uses := clockedTo(a, 0, 400); uses[1] != 0 {
			t.Errorf("signal %d: %d packets were steered to a troubled path", bad, uses[1])
		}
		for range trustAfter {
			a.Feedback(1, Good, 0)
		}
		if uses := clockedTo(a, 0, 400); uses[1] == 0 {
			t.Errorf("signal %d is never forgiven", bad)
		}
	}
}

// A path that was silent looks idle, because what it had in flight was given up.
// It is not chosen for the same packets again; if all were silent, all are tried.
func TestSteeringAvoidsSilentPaths(t *testing.T) {
	a := steered(3, 8, map[Path]int{})
	a.Feedback(1, TimedOut, 0)
	if uses := take(a, 800); uses[1] != 0 || uses[0] == 0 || uses[2] == 0 {
		t.Errorf("after silence on path 1 packets went to %v", uses)
	}
	a.Feedback(0, TimedOut, 0)
	a.Feedback(2, TimedOut, 0)
	if uses := take(a, 800); len(uses) != 3 {
		t.Errorf("after silence on all paths packets went to %v", uses)
	}
}

// A run ends when its path loses or is silent: what is sent again goes elsewhere.
func TestSteeringLeavesARunThatLoses(t *testing.T) {
	for _, bad := range []Signal{Nacked, TimedOut} {
		a := steered(8, 8, map[Path]int{})
		for range 100 {
			first := a.Next()
			a.Feedback(first, bad, 0)
			if again := a.Next(); again == first {
				t.Errorf("signal %d: the packet that path %d lost follows it there", bad, first)
			}
			a.SetUsable(first, true) // as after a probe
		}
	}
	a := steered(8, 8, map[Path]int{})
	first := a.Next()
	a.Feedback(first, Marked, 0)
	a.Feedback((first+1)%8, Nacked, 0)
	for range 7 {
		if p := a.Next(); p != first {
			t.Errorf("the run on path %d goes on with path %d for no loss of its own", first, p)
		}
	}
}

// A path that a probe brought back into use is trusted at once.
func TestSteeringForgives(t *testing.T) {
	a := steered(2, 8, map[Path]int{0: 100, 1: 0})
	a.Feedback(1, Nacked, 0)
	a.SetUsable(1, false)
	a.SetUsable(1, true)
	if uses := clockedTo(a, 0, 400); uses[1] == 0 {
		t.Error("a restored path is not trusted")
	}
}

// Steering does not use a path that is out of use.
func TestSteeringKnowsUnusablePaths(t *testing.T) {
	a := steered(3, 8, map[Path]int{0: 100, 1: 0, 2: 50})
	a.SetUsable(1, false)
	if uses := clockedTo(a, 0, 400); uses[1] != 0 {
		t.Errorf("%d packets went to a path out of use", uses[1])
	}
}

// In paper mode load is nobody's business: the clock alone decides.
func TestPaperClockIsNotSteered(t *testing.T) {
	a := steered(2, 1, map[Path]int{0: 100, 1: 0})
	a.steer.on = false
	if uses := clockedTo(a, 0, 400); uses[0] != 400 {
		t.Errorf("packets left the path of their ACK: %v", uses)
	}
	if PaperOptions().Rebalance {
		t.Error("the paper does not rebalance")
	}
}

// A few small packets stay on one path: spreading them would cost more sends and
// acknowledgements than it has bytes to spread.
func TestSteeringKeepsSmallPacketsTogether(t *testing.T) {
	for _, c := range []struct{ size, stay int }{{64, 800}, {1024, 500}, {0, 800}} {
		a := steered(2, 8, map[Path]int{0: 16, 1: 0})
		a.ObserveLoad(fixedLoad{map[Path]int{0: 16, 1: 0}, c.size})
		if uses := clockedTo(a, 0, 800); uses[0] < c.stay || c.size == 1024 && uses[1] == 0 {
			t.Errorf("packets of %d bytes: %v by path", c.size, uses)
		}
	}
}
