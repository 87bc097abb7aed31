package machine

import "testing"

const (
	kib = 1 << 10
	mib = 1 << 20
)

// roads are the paths of a machine with Proportional, in virtual time. Each carries one
// sub-request after the other, at its own pace.
type roads struct {
	t       *testing.T
	m       *Machine
	now     Time
	pace    []Time // of each lane, ns per KiB
	free    []Time // when the lane has carried what it has
	queue   [][]passage
	carried []int // bytes, by lane
}

type passage struct {
	tag  Tag
	done Time
}

func newRoads(t *testing.T, cfg Config, pace ...Time) *roads {
	cfg.Lanes, cfg.Balancer = len(pace), Proportional()
	r := &roads{t: t, m: New(cfg), pace: pace, free: make([]Time, len(pace)), queue: make([][]passage, len(pace)), carried: make([]int, len(pace))}
	for i := range pace {
		r.m.HandleUp(i)
	}
	return r
}

// send sends requests, a number of them at a time, and returns how long they took.
func (r *roads) send(requests, size, atATime int) Time {
	r.t.Helper()
	began := r.now
	clear(r.carried)
	for posted, done := 0, 0; done < requests; {
		for ; posted < requests && posted < done+atATime; posted++ {
			r.m.Post(Write, size)
		}
		r.post()
		r.step()
		for {
			c, ok := r.m.PollCompletion()
			if !ok {
				break
			}
			if c.Err != nil {
				r.t.Fatal(c.Err)
			}
			done++
		}
	}
	return r.now - began
}

// post gives the lanes all work that there is.
func (r *roads) post() {
	for {
		w, ok := r.m.PollWork(r.now)
		if !ok {
			return
		}
		i := w.Lane
		r.free[i] = max(r.free[i], r.now) + Time(w.Length)*r.pace[i]/kib
		r.queue[i] = append(r.queue[i], passage{w.Tag, r.free[i]})
		r.carried[i] += w.Length
	}
}

// step goes to the next completion.
func (r *roads) step() {
	r.t.Helper()
	next := -1
	for i := range r.queue {
		if len(r.queue[i]) > 0 && (next < 0 || r.queue[i][0].done < r.queue[next][0].done) {
			next = i
		}
	}
	if next < 0 {
		r.t.Fatal("the machine waits, and nothing is outstanding")
	}
	p := r.queue[next][0]
	r.queue[next] = r.queue[next][1:]
	r.now = max(r.now, p.done)
	r.m.HandleDone(r.now, p.tag, OK, nil)
}

// wantBest expects a time of 10 % more than the best at most.
func (r *roads) wantBest(took, best Time) {
	r.t.Helper()
	if took > best+best/10 {
		r.t.Errorf("%v bytes took %d ns, want %d and 10 %% at most", r.carried, took, best)
	}
}

// wantRatio expects what the second lane has carried, in terms of the first.
func (r *roads) wantRatio(least, most float64) {
	r.t.Helper()
	if ratio := float64(r.carried[1]) / float64(r.carried[0]); ratio < least || ratio > most {
		r.t.Errorf("%v bytes: ratio %.3f, want %.2f to %.2f", r.carried, ratio, least, most)
	}
}

// TestProportionalSplit: a lane of three times the capacity gets three times the data
// (Virtuoso, equation 1), also where it is idle until that is known: it waits for the
// other with a queue of four, and between requests that come one at a time.
func TestProportionalSplit(t *testing.T) {
	for _, c := range []struct {
		name                 string
		depth, size, atATime int
	}{
		{"depth 4", 4, mib, 8},
		{"one at a time", 16, 512 * kib, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRoads(t, Config{Chunk: 32 * kib, Depth: c.depth}, 100, 300)
			r.send(4*mib/c.size, c.size, c.atATime)
			r.wantBest(r.send(64*mib/c.size, c.size, c.atATime), 64*kib*100*3/4)
		})
	}
}

// TestProportionalHeals: a lane that was nine times slower has its share again 16 MiB
// after it has healed. Until then it is idle most of the time.
func TestProportionalHeals(t *testing.T) {
	for _, c := range []struct {
		name                 string
		depth, size, atATime int
	}{
		{"depth 4", 4, mib, 8},
		{"depth 16", 16, mib, 8},
		{"one at a time", 16, 512 * kib, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRoads(t, Config{Chunk: 32 * kib, Depth: c.depth}, 100, 100)
			r.send(4*mib/c.size, c.size, c.atATime)
			r.wantRatio(0.9, 1.1)
			r.pace[1] = 900
			r.send(64*mib/c.size, c.size, c.atATime)
			r.send(64*mib/c.size, c.size, c.atATime)
			r.wantRatio(0.10, 0.12)
			r.pace[1] = 100
			r.send(16*mib/c.size, c.size, c.atATime)
			r.send(16*mib/c.size, c.size, c.atATime)
			r.wantRatio(0.9, 1.1)
		})
	}
}

// TestProportionalProbes: the share of a lane that was ten thousand times slower has not
// fallen for ever: it is seen to have healed while the other carries 128 MiB, and has its
// share 16 MiB later. Meanwhile the other never waits for it.
func TestProportionalProbes(t *testing.T) {
	r := newRoads(t, Config{Chunk: 32 * kib, Depth: 16}, 100, 100)
	const all = 4096 // requests are posted at once, so that none waits for the end of another
	r.send(8, mib, all)
	r.pace[1] = 1000000
	r.send(4096, mib, all)
	r.wantBest(r.send(4096, mib, all), 4096*kib*100)
	r.pace[1] = 100
	r.send(144, mib, all)
	r.send(16, mib, all)
	r.wantRatio(0.9, 1.1)
}

// TestProportionalLossy: in a lossy network a lane is charged for the bytes of its window
// that are posted, and for nothing while it is not its turn. So the windows do not change
// the split.
func TestProportionalLossy(t *testing.T) {
	for _, most := range [][2]int{{16 * kib, 256 * kib}, {256 * kib, 16 * kib}} {
		r := newRoads(t, Config{Chunk: 32 * kib, Depth: 16, Window: &WindowConfig{First: 8 * kib}}, 100, 300)
		for i := range r.m.lanes {
			r.m.lanes[i].window.cfg.Max = most[i]
		}
		r.send(1, 512*kib, 1) // too little to measure a lane: all count 1
		for i, s := range r.m.cfg.Balancer.(*proportional).lanes {
			if s.data != float64(r.carried[i]) {
				t.Errorf("lane %d is charged for %v bytes and has carried %d", i, s.data, r.carried[i])
			}
		}
		r.send(4, mib, 4)
		r.wantBest(r.send(64, mib, 8), 64*kib*100*3/4)
	}
}
