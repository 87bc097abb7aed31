package transport

import (
	"testing"
	"time"
)

// Flowlets and penalties: the policies that MP-RDMA is compared with.

// A flowlet ends with a gap that is longer than the limit, and only then.
func TestFlowletChangesAfterAGap(t *testing.T) {
	const gap = 50 * Microsecond
	p := policyWith("flowlet", MaxPaths, 1)
	now := Second
	send := func(after Time) Path {
		now += after
		p.(Clocked).At(now)
		return p.Next()
	}
	path := send(0)
	for range 1000 {
		if send(gap) != path {
			t.Fatal("changed path within a flowlet")
		}
	}
	seen := map[Path]bool{}
	for range 1000 {
		path := send(gap + 1)
		seen[path] = true
		if send(1) != path {
			t.Fatal("a flowlet of one packet")
		}
	}
	if len(seen) < MaxPaths/2 {
		t.Errorf("1000 flowlets used %d of %d paths", len(seen), MaxPaths)
	}
}

// The connection tells the policy the time of every packet, before it asks.
func TestMPTellsClockedPolicyTheTime(t *testing.T) {
	const gap = 3 * mpRTT
	q := newMPTest(t, func(o *MPOptions) { o.Policy = NewFlowlet(time.Duration(gap)) })
	paths := func() (used map[Path]int) {
		used = map[Path]int{}
		for _, p := range q.unwanted {
			used[p.Path]++
		}
		q.unwanted = nil
		return used
	}
	all := map[Path]bool{}
	for n := range 20 {
		q.write(4)
		used := paths()
		if len(used) != 1 {
			t.Fatalf("a burst used paths %v", used)
		}
		for p := range used {
			all[p] = true
		}
		q.acks(4*n, 4*n+1, 4*n+2, 4*n+3)
		q.advance(gap + 1)
	}
	if len(all) < 5 {
		t.Errorf("20 bursts with gaps between used %d paths", len(all))
	}
	q.mp.SetPolicy(NewRoundRobin(16, q.mp.opt, q.mp.cfg.Rand))
	if q.mp.paths.clocked != nil {
		t.Error("a policy that does not ask for the time is told")
	}
}

// What each signal costs: so many rounds without the path.
func TestPenaltyCostsTurns(t *testing.T) {
	const paths = 8
	for _, c := range []struct {
		name    string
		signals []Signal
		rounds  int
	}{
		{"good", []Signal{Good}, 0},
		{"marked", []Signal{Marked}, 1},
		{"slow", []Signal{Slow}, 1},
		{"marked twice", []Signal{Marked, Marked}, 2},
		{"nacked", []Signal{Nacked}, 4},
		{"nacked and marked", []Signal{Nacked, Marked}, 5},
		{"timed out", []Signal{TimedOut}, 15},
		{"no more than the most", []Signal{Nacked, Nacked, Nacked, Nacked, TimedOut}, 15},
	} {
		p := policyWith("penalty", paths, 1)
		for _, s := range c.signals {
			p.Feedback(3, s, 0)
		}
		for range c.rounds {
			// The rounds that it misses have one packet less.
			for path, n := range take(p, paths-1) {
				if path == 3 || n != 1 {
					t.Fatalf("%s: path %d was used %d times in a round", c.name, path, n)
				}
			}
		}
		if uses := take(p, 2*paths); uses[3] != 2 {
			t.Errorf("%s: after %d rounds the path was used %d times in two", c.name, c.rounds, uses[3])
		}
	}
}

// A round has every path once, in an order of its own.
func TestPenaltyScramblesRounds(t *testing.T) {
	const paths = 16
	p := policyWith("penalty", paths, 1)
	orders := map[[paths]Path]bool{}
	for range 50 {
		var order [paths]Path
		seen := map[Path]bool{}
		for i := range order {
			order[i] = p.Next()
			seen[order[i]] = true
		}
		if len(seen) != paths {
			t.Fatalf("a round of %v", order)
		}
		orders[order] = true
	}
	if len(orders) < 50 {
		t.Errorf("%d orders in 50 rounds", len(orders))
	}
}

// When every path is in disgrace there still is an answer.
func TestPenaltyOfAllPaths(t *testing.T) {
	p := policyWith("penalty", MaxPaths, 1)
	for q := range Path(MaxPaths) {
		p.Feedback(q, TimedOut, 0)
	}
	p.Feedback(MaxPaths, TimedOut, 0) // does not exist
	if uses := take(p, 2*MaxPaths); len(uses) != MaxPaths {
		t.Errorf("%d paths used", len(uses))
	}
}

func TestBaselinePoliciesAllocateNothing(t *testing.T) {
	for _, name := range []string{"flowlet", "penalty"} {
		p := policyWith(name, 16, 1)
		now := Second
		if got := testing.AllocsPerRun(1000, func() {
			if c, ok := p.(Clocked); ok {
				now += Millisecond
				c.At(now)
			}
			p.Feedback(p.Next(), Marked, 0)
		}); got != 0 {
			t.Errorf("%s: %v allocations per packet", name, got)
		}
	}
}
