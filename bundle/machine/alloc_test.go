package machine

import "testing"

// TestChunksAllocateNothing: what a long request costs in memory does not depend on its
// chunks.
func TestChunksAllocateNothing(t *testing.T) {
	m := New(Config{Lanes: 4, Chunk: 1 << 10, Depth: 16, Balancer: DynamicChunks(4)})
	for i := range 4 {
		m.HandleUp(i)
	}
	var tags []Tag
	chunks := func(n int) {
		for done := 0; done < n; {
			for {
				w, ok := m.PollWork(1)
				if !ok {
					break
				}
				tags = append(tags, w.Tag)
			}
			for _, tag := range tags {
				m.HandleDone(2, tag, OK, nil)
			}
			done += len(tags)
			tags = tags[:0]
		}
	}
	m.Post(Write, 1<<30)
	chunks(1000)
	if n := testing.AllocsPerRun(10, func() { chunks(1000) }); n > 0 {
		t.Errorf("%v allocations for 1000 chunks", n)
	}
}

// TestNothingIsKept: what is done is forgotten, of whatever kinds a connection's requests are.
func TestNothingIsKept(t *testing.T) {
	m := New(Config{Lanes: 1, Chunk: 8, Depth: 4, Eager: 8, Balancer: RoundRobin()})
	m.HandleUp(0)
	run := func() (done int) {
		for {
			w, ok := m.PollWork(1)
			if !ok {
				break
			}
			m.HandleDone(2, w.Tag, OK, nil)
		}
		for {
			if _, ok := m.PollCompletion(); !ok {
				return done
			}
			done++
		}
	}
	for name, request := range map[string]func(n Number){
		"writes": func(Number) { m.Post(Write, 10) },
		"sends": func(n Number) {
			m.Post(Send, 5)
			if _, err := m.HandleHeader(&Header{Kind: HeaderAnnounce, Number: n, Target: Target{Length: 5}}, 0); err != nil {
				t.Fatal(err)
			}
		},
		"receives": func(Number) {
			n := m.PostReceive(5)
			run() // it is announced
			if _, err := m.HandleHeader(&Header{Kind: HeaderDelivered, Number: n, Target: Target{Length: 5}}, 0); err != nil {
				t.Fatal(err)
			}
		},
	} {
		for n := range Number(1000) {
			if request(n); run() != 1 {
				t.Fatalf("%s: number %d is not done", name, n)
			}
		}
		if requests, pieces := len(m.oneSided.items), len(m.spare); requests > 2 || pieces > 4 {
			t.Errorf("%s: %d requests and %d pieces are kept", name, requests, pieces)
		}
	}
}
