package fifo

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// A queue does what a slice does that is cut at its front.
func TestQueueAgainstSlice(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var q Queue[int]
	var want []int
	for n := range 100000 {
		switch r.IntN(5) {
		case 0, 1:
			q.Push(n)
			want = append(want, n)
		case 2, 3:
			item, ok := q.Pop()
			if ok != (len(want) > 0) || ok && item != want[0] {
				t.Fatalf("Pop() = %d, %v; want %v", item, ok, want)
			}
			want = want[min(1, len(want)):]
		case 4:
			if len(want) == 0 {
				continue
			}
			gone := want[r.IntN(len(want))]
			want = slices.DeleteFunc(want, func(i int) bool { return i == gone })
			if !q.Remove(func(i int) bool { return i == gone }) || q.Remove(func(i int) bool { return i == gone }) {
				t.Fatalf("%d is not removed once", gone)
			}
		}
		if q.Len() != len(want) {
			t.Fatalf("Len() = %d, want %d", q.Len(), len(want))
		}
		for i := range want {
			if q.At(i) != want[i] {
				t.Fatalf("At(%d) = %d, want %d", i, q.At(i), want[i])
			}
		}
	}
}

func BenchmarkPushPop(b *testing.B) {
	var q Queue[int]
	q.Push(1)
	b.ReportAllocs()
	for b.Loop() {
		q.Push(1)
		q.Pop()
	}
}
