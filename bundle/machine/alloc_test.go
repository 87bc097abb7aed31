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
