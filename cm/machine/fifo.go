package machine

// fifo is a queue whose memory is used again when it has run empty, or half of it has been read.
type fifo[T any] struct {
	items []T
	head  int
}

func (q *fifo[T]) push(item T) {
	if len(q.items) == cap(q.items) && q.head > len(q.items)/2 {
		left := copy(q.items, q.items[q.head:])
		clear(q.items[left:])
		q.items, q.head = q.items[:left], 0
	}
	q.items = append(q.items, item)
}

// first is the one that pop returns next.
func (q *fifo[T]) first() (item T, ok bool) {
	if q.head == len(q.items) {
		return item, false
	}
	return q.items[q.head], true
}

func (q *fifo[T]) pop() (item T, ok bool) {
	if item, ok = q.first(); !ok {
		return item, false
	}
	var none T
	q.items[q.head] = none
	if q.head++; q.head == len(q.items) {
		q.items, q.head = q.items[:0], 0
	}
	return item, true
}
