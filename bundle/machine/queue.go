package machine

// queue is first in, first out.
type queue[T any] struct {
	items []T
	head  int
}

func (q *queue[T]) push(item T) { q.items = append(q.items, item) }

func (q *queue[T]) empty() bool { return q.head == len(q.items) }

func (q *queue[T]) peek() (item T, ok bool) {
	if q.empty() {
		return item, false
	}
	return q.items[q.head], true
}

func (q *queue[T]) pop() (item T, ok bool) {
	if item, ok = q.peek(); !ok {
		return item, false
	}
	var zero T
	q.items[q.head] = zero
	q.head++
	if q.head*2 >= len(q.items) { // amortised: each item moves once at most
		q.items = q.items[:copy(q.items, q.items[q.head:])]
		q.head = 0
	}
	return item, true
}
