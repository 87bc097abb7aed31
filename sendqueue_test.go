package braid

import "testing"

// Any mixture of sends that tell and sends that do not is counted right, also when the queue
// is full of those that do.
func TestSendQueue(t *testing.T) {
	const depth = 100
	for _, every := range []int{1, 2, 7, 1000} {
		q := newSendQueue(depth)
		told := 0
		for n := range 10000 {
			for q.posted == depth {
				q.completed()
				told--
			}
			if q.next(n%every == 0) != 0 {
				told++
			}
			if q.n != told || q.posted > depth {
				t.Fatalf("every %d: %d groups, want %d; %d posted", every, q.n, told, q.posted)
			}
		}
		for ; told > 0; told-- {
			q.completed()
		}
		if q.posted != q.unsigned {
			t.Errorf("every %d: %d are left, want %d", every, q.posted, q.unsigned)
		}
	}
}
