package transport

// fifo is a growable ring. Capacity is a power of two and starts at zero, so
// that an idle queue pair pays nothing; it never shrinks, so that a steady
// state allocates nothing.
type fifo[T any] struct {
	items      []T
	head, size int32 // small, because a connection has many of these
}

func (f *fifo[T]) len() int { return int(f.size) }

// at is the i-th item from the oldest.
func (f *fifo[T]) at(i int) *T { return &f.items[(int(f.head)+i)&(len(f.items)-1)] }

// push makes room for one more item and returns it. A reused slot keeps its
// old content, so that slices inside it can be reused.
func (f *fifo[T]) push() *T {
	if f.len() == len(f.items) {
		f.grow()
	}
	f.size++
	return f.at(f.len() - 1)
}

func (f *fifo[T]) pop() *T {
	t := f.at(0)
	f.head = (f.head + 1) & int32(len(f.items)-1)
	f.size--
	return t
}

func (f *fifo[T]) clear() { f.head, f.size = 0, 0 }

func (f *fifo[T]) grow() {
	items := make([]T, max(4, 2*len(f.items)))
	for i := range f.len() {
		items[i] = *f.at(i)
	}
	f.items, f.head = items, 0
}
