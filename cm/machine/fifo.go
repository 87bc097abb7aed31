package machine

// fifo is a queue whose memory is used again when it has run empty.
type fifo[T any] struct {
	items []T
	head  int
}

func (q *fifo[T]) push(item T) { q.items = append(q.items, item) }

func (q *fifo[T]) pop() (item T, ok bool) {
	if q.head == len(q.items) {
		return item, false
	}
	item = q.items[q.head]
	var none T
	q.items[q.head] = none
	if q.head++; q.head == len(q.items) {
		q.items, q.head = q.items[:0], 0
	}
	return item, true
}
