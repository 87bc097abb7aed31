package transport

import (
	"math/rand/v2"
	"testing"
	"time"
)

// The path policies by themselves.

var policies = map[string]func(int, *MPOptions, *rand.Rand) PathPolicy{
	"single": NewSinglePath, "round robin": NewRoundRobin, "spray": NewRandomSpray, "ACK clock": NewAckClock,
	"flowlet": NewFlowlet(50 * time.Microsecond), "penalty": NewPenalty,
}

func policyWith(name string, paths, run int) PathPolicy {
	o := PaperOptions()
	o.Run = run
	return policies[name](paths, &o, rand.New(rand.NewPCG(5, 6)))
}

// take asks for n paths and counts them.
func take(p PathPolicy, n int) map[Path]int {
	uses := map[Path]int{}
	for range n {
		uses[p.Next()]++
	}
	return uses
}

// Every policy obeys what is usable, always has an answer, and comes back.
func TestPoliciesUseOnlyUsablePaths(t *testing.T) {
	for name := range policies {
		for _, paths := range []int{1, 3, 64, 65, MaxPaths} {
			p := policyWith(name, paths, 2)
			for i := range paths - 1 {
				p.SetUsable(Path(i), false)
				p.Feedback(Path(i), Good, 1) // an ACK of a retired path clocks no packet onto it
			}
			if uses := take(p, 50); uses[Path(paths-1)] != 50 {
				t.Errorf("%s, %d paths, all but the last out of use: %v", name, paths, uses)
			}
			p.SetUsable(Path(paths-1), false)
			p.SetUsable(Path(paths), false) // does not exist
			if uses := take(p, 10); uses[Path(paths-1)] != 10 {
				t.Errorf("%s: the last path cannot be taken out of use, got %v", name, uses)
			}
			p.SetUsable(0, true)
			for q := range take(p, 100) {
				if q != 0 && int(q) != paths-1 {
					t.Errorf("%s, %d paths: used %d, which is out of use", name, paths, q)
				}
			}
		}
	}
}

func TestSinglePathStays(t *testing.T) {
	p := policyWith("single", 8, 1)
	first := p.Next()
	if uses := take(p, 100); uses[first] != 100 {
		t.Errorf("uses %v", uses)
	}
	p.SetUsable(first, false)
	second := p.Next()
	p.SetUsable(first, true)
	if uses := take(p, 100); second == first || uses[second] != 100 {
		t.Errorf("after its path was retired: %v", uses)
	}
}

func TestRoundRobinTakesTurns(t *testing.T) {
	p := policyWith("round robin", 3, 2)
	p.SetUsable(1, false)
	for i, want := range []Path{0, 0, 2, 2, 0, 0, 2, 2} {
		if got := p.Next(); got != want {
			t.Fatalf("packet %d by path %d, want %d", i, got, want)
		}
	}
}

func TestSprayIsEven(t *testing.T) {
	for _, run := range []int{1, 15} {
		uses := take(policyWith("spray", 8, run), 8*1500)
		for path := range Path(8) {
			if n := uses[path]; n < 1000 || n > 2000 {
				t.Errorf("runs of %d: path %d was used %d times of 12000", run, path, n)
			}
		}
	}
	p := policyWith("spray", 8, 15)
	last := p.Next()
	for i := 1; i < 15; i++ {
		if p.Next() != last {
			t.Fatalf("a run of 15 ended after %d", i)
		}
	}
}

// MP-RDMA §3.2: what an ACK releases follows its path; in the order of the ACKs.
func TestAckClockFollowsAcks(t *testing.T) {
	p := policyWith("ACK clock", 16, 1)
	p.Feedback(3, Good, 1)
	p.Feedback(5, Marked, 2)
	p.Feedback(7, Slow, 0) // releases nothing
	p.Feedback(3, Good, 1)
	for i, want := range []Path{3, 5, 5, 3} {
		if got := p.Next(); got != want {
			t.Fatalf("packet %d by path %d, want %d", i, got, want)
		}
	}
	if uses := take(p, 160); len(uses) < 8 {
		t.Errorf("without a clock packets go to %d paths, want random ones", len(uses))
	}
}

// §3.2: the initial window goes "to IW initial VPs", and so does what a restart sends.
func TestAckClockDealsDistinctPaths(t *testing.T) {
	const paths = 64
	p := policyWith("ACK clock", paths, 1)
	distinct := func(when string, packets int) {
		t.Helper()
		if uses := take(p, packets); len(uses) != packets {
			t.Errorf("%s: %d packets went by %d paths", when, packets, len(uses))
		}
	}
	distinct("at the start", paths)
	distinct("when each had one", paths/2)
	p.(Restarter).Restart()
	distinct("after a restart", paths)
	for q := range Path(paths - 2) {
		p.SetUsable(q, false)
	}
	if uses := take(p, 100); uses[paths-2] != 50 || uses[paths-1] != 50 {
		t.Errorf("two usable paths have %v of 100 packets", uses)
	}
}

// Where packets go in runs, what a path is due goes out together.
func TestAckClockGathersRuns(t *testing.T) {
	p := policyWith("ACK clock", 16, 15)
	p.Feedback(3, Good, 1)
	p.Feedback(5, Good, 2)
	p.Feedback(3, Good, 2)
	for i, want := range []Path{3, 3, 3, 5, 5} {
		if got := p.Next(); got != want {
			t.Fatalf("packet %d by path %d, want %d", i, got, want)
		}
	}
}

// Only the ACK clock holds packets back for acknowledgements.
func TestOnlyAckClockIsClocked(t *testing.T) {
	for name := range policies {
		if got := policyWith(name, 4, 1).AckClocked(); got != (name == "ACK clock") {
			t.Errorf("%s: AckClocked %v", name, got)
		}
	}
}

// A packet that is sent again takes another path than the one that lost it, although the run
// of that path is not over. A single path has no other, and ACK clocking takes any.
func TestLossEndsTheRun(t *testing.T) {
	for _, signal := range []Signal{Nacked, TimedOut} {
		for name := range policies {
			if name == "single" || name == "ACK clock" {
				continue
			}
			for before := range 70 {
				p := policyWith(name, 4, 60)
				take(p, before)
				lost := p.Next()
				p.Feedback(lost, signal, 0)
				if c, ok := p.(Clocked); ok {
					c.At(Second) // after a gap
				}
				if p.Next() == lost {
					t.Fatalf("%s: what path %d lost is sent on it again", name, lost)
				}
			}
		}
	}
}
