// Package fifo has a queue whose memory is used again.
package fifo

import "slices"

// Queue is first in, first out. The zero value is empty and ready for use.
type Queue[T any] struct {
	items []T
	head  int
}

// Len returns how many items wait.
func (q *Queue[T]) Len() int { return len(q.items) - q.head }

// At returns the i-th item from the oldest.
func (q *Queue[T]) At(i int) T { return q.items[q.head+i] }

// Push adds an item.
func (q *Queue[T]) Push(item T) {
	if q.head > 0 && len(q.items) == cap(q.items) {
		n := copy(q.items, q.items[q.head:])
		clear(q.items[n:])
		q.items, q.head = q.items[:n], 0
	}
	q.items = append(q.items, item)
}

// Pop takes the oldest item.
func (q *Queue[T]) Pop() (item T, ok bool) {
	if q.Len() == 0 { // mostly, and found without a call
		return item, false
	}
	return q.pop(), true
}

func (q *Queue[T]) pop() (item T) {
	var none T
	item, q.items[q.head] = q.items[q.head], none
	if q.head++; q.head == len(q.items) {
		q.items, q.head = q.items[:0], 0
	}
	return item
}

// Remove takes the first item out that matches, and returns whether there was one.
func (q *Queue[T]) Remove(match func(T) bool) bool {
	i := slices.IndexFunc(q.items[q.head:], match)
	if i < 0 {
		return false
	}
	q.items = slices.Delete(q.items, q.head+i, q.head+i+1)
	return true
}
