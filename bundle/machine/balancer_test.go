package machine

import (
	"errors"
	"testing"
)

func views(n int) []LaneView {
	v := make([]LaneView, n)
	for i := range v {
		v[i] = LaneView{Up: true, Free: 4}
	}
	return v
}

func TestRoundRobinWaitsForItsTurn(t *testing.T) {
	b, v := RoundRobin(), views(3)
	v[1].Up = false
	for _, want := range []int{0, 2, 0, 2} {
		if got := b.Pick(v); got != want {
			t.Fatalf("got lane %d, want %d", got, want)
		}
	}
	v[0].Free = 0
	if got := b.Pick(v); got != -1 {
		t.Errorf("got lane %d while it is the turn of a full one", got)
	}
}

func TestDynamicChunksFollowCompletions(t *testing.T) {
	b, v := DynamicChunks(1), views(3)
	for range 3 {
		v[b.Pick(v)].Outstanding++
	}
	if got := b.Pick(v); got != -1 {
		t.Fatalf("got lane %d while all are busy", got)
	}
	v[2].Outstanding = 0
	if got := b.Pick(v); got != 2 {
		t.Errorf("got lane %d, want 2, whose chunk is complete", got)
	}
}

func TestLeastOutstandingAndRandom(t *testing.T) {
	v := views(3)
	v[0].Bytes, v[1].Bytes, v[2].Bytes = 9, 3, 5
	if got := LeastOutstanding().Pick(v); got != 1 {
		t.Errorf("got lane %d, want 1", got)
	}
	v[0].Up, v[2].Free = false, 0
	for seed := range uint64(8) {
		if got := Random(seed).Pick(v); got != 1 {
			t.Errorf("got lane %d, want the only open one", got)
		}
	}
}

// TestWindow follows Virtuoso §3.5: doubling, back to the value before, then linear.
func TestWindow(t *testing.T) {
	w := NewWindow(WindowConfig{First: 1 << 15, Step: 1 << 15, Max: 1 << 20})
	want := func(size int) {
		t.Helper()
		if w.Size() != size {
			t.Fatalf("window %d, want %d", w.Size(), size)
		}
	}
	want(1 << 15)
	w.Succeeded(100, 1) // a chunk that is not full says nothing
	want(1 << 15)
	w.Succeeded(1<<15, 1)
	want(1 << 16)
	w.Succeeded(1<<16, 1)
	want(1 << 17)
	w.Lost()
	want(1 << 16)
	w.Succeeded(1<<16, 1)
	want(3 << 15)
	w.Succeeded(3<<15, 1) // the next step is what failed
	want(3 << 15)
	w.Lost() // what used to pass fails
	want(3 << 14)
}

// TestSmallWindow: a loss makes no window larger, also where the first chunk is small.
func TestSmallWindow(t *testing.T) {
	w := NewWindow(WindowConfig{First: 256, Max: 512})
	for _, want := range []int{256, 256} {
		if w.Lost(); w.Size() != want {
			t.Errorf("window %d, want %d", w.Size(), want)
		}
	}
}

// TestWindowByPace: a chunk that is slow for its size counts as lost, the smallest never.
func TestWindowByPace(t *testing.T) {
	w := NewWindow(WindowConfig{First: 2000, Step: 1000, ByPace: true})
	for _, step := range []struct {
		took Time
		want int
	}{
		{2000, 4000},
		{4000, 8000},
		{17000, 4000},
		{4000, 5000},
		{5000, 6000},
		{6000, 7000},
		{15000, 6000},
		{13000, 3000},
		{7000, 2000},
		{9000, 2000},
	} {
		w.Succeeded(w.Size(), step.took)
		if w.Size() != step.want {
			t.Fatalf("after %d: window %d, want %d", step.took, w.Size(), step.want)
		}
	}
}

// TestLossyTurns: in a lossy network each lane has one chunk at a time, as large as its
// window.
func TestLossyTurns(t *testing.T) {
	m := New(Config{Lanes: 2, Chunk: 1 << 20, Depth: 8, Balancer: LeastOutstanding(), Window: &WindowConfig{First: 1000, Step: 1000}})
	m.HandleUp(0)
	m.HandleUp(1)
	m.Post(Write, 1<<20)
	first, _ := m.PollWork(1)
	second, _ := m.PollWork(1)
	if _, more := m.PollWork(1); more || first.Lane == second.Lane || first.Length != 1000 {
		t.Fatalf("work %+v and %+v, more: %v", first, second, more)
	}
	m.HandleDone(2, first.Tag, OK, nil)
	next, ok := m.PollWork(2)
	if !ok || next.Lane != first.Lane || next.Length != 2000 {
		t.Errorf("work %+v, want 2000 bytes on lane %d", next, first.Lane)
	}
}

// TestLossyRepeats: what was too large for the network is repeated in chunks that are not.
func TestLossyRepeats(t *testing.T) {
	const length, passes = 1 << 20, 80 << 10
	m := New(Config{Lanes: 2, Depth: 1, Balancer: LeastOutstanding(), Window: &WindowConfig{}})
	m.HandleUp(0)
	m.HandleUp(1)
	m.Post(Write, length)
	written := make([]int, length>>10) // times, by KiB
	for {
		w, ok := m.PollWork(1)
		if !ok {
			break
		}
		if w.Length > passes {
			m.HandleDone(2, w.Tag, RetryExceeded, errors.New("lost"))
			m.HandleDown(w.Lane)
			m.HandleUp(w.Lane)
			continue
		}
		for k := w.Offset; k < w.Offset+w.Length; k += 1 << 10 {
			written[k>>10]++
		}
		m.HandleDone(2, w.Tag, OK, nil)
	}
	if c, ok := m.PollCompletion(); !ok || c.Err != nil || c.Bytes != length {
		t.Errorf("completion %+v, %v", c, ok)
	}
	for k, times := range written {
		if times != 1 {
			t.Fatalf("KiB %d was written %d times", k, times)
		}
	}
}

func TestHeader(t *testing.T) {
	h := Header{Kind: HeaderAnnounce, Number: 7, Target: Target{Addr: 1 << 50, Key: 9, Length: 1 << 33}}
	got, rest, err := ParseHeader(h.Append(nil))
	if err != nil || got != h || len(rest) != 0 {
		t.Errorf("got %+v, %d bytes, %v; want %+v", got, len(rest), err, h)
	}
}

// TestHostileHeaders: a peer that tells what it cannot mean is found out, and copies of
// what it told have no effect.
func TestHostileHeaders(t *testing.T) {
	m := New(Config{Lanes: 1, Chunk: 1, Depth: 1, Balancer: RoundRobin()})
	n := m.PostReceive(10)
	for _, h := range []Header{
		{Kind: HeaderDelivered, Number: 1},
		{Kind: HeaderDelivered, Number: 1 << 63},
		{Kind: HeaderDelivered, Number: n, Target: Target{Length: 11}},
		{Kind: HeaderAnnounce, Number: MaxAnnounced},
	} {
		if _, err := m.HandleHeader(&h, int(h.Target.Length)); !errors.Is(err, ErrProtocol) {
			t.Errorf("%+v: got %v, want ErrProtocol", h, err)
		}
	}
	h := Header{Kind: HeaderMessage, Number: n, Target: Target{Length: 3}}
	for _, want := range []bool{true, false} {
		if place, err := m.HandleHeader(&h, int(h.Target.Length)); place != want || err != nil {
			t.Errorf("place %v, %v; want %v", place, err, want)
		}
	}
}
