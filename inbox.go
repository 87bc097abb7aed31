package braid

import (
	"sync"
	"sync/atomic"
)

// job is something that only the owner of a context may do.
type job interface{ perform(*Context) }

// task is a job in the inbox. It is a part of what the job is about, so that asking costs
// no memory.
type task struct {
	next *task
	job  job
}

// inbox takes tasks from any goroutine; the owner takes them out. A push is one atomic
// operation and never waits.
type inbox struct{ newest atomic.Pointer[task] }

func (b *inbox) push(t *task) {
	for {
		t.next = b.newest.Load()
		if b.newest.CompareAndSwap(t.next, t) {
			return
		}
	}
}

func (b *inbox) empty() bool { return b.newest.Load() == nil }

// take returns all tasks, oldest first.
func (b *inbox) take() *task {
	if b.empty() { // mostly, and found without a call
		return nil
	}
	return b.takeAll()
}

func (b *inbox) takeAll() *task {
	newest := b.newest.Swap(nil)
	var oldest *task
	for newest != nil {
		next := newest.next
		newest.next, oldest = oldest, newest
		newest = next
	}
	return oldest
}

// function is a job that is written where it is needed.
type function struct {
	task
	f    func()
	done chan struct{}
}

func (f *function) perform(*Context) {
	f.f()
	f.done <- struct{}{}
}

// functions are free.
var functions = sync.Pool{New: func() any {
	f := &function{done: make(chan struct{}, 1)}
	f.task.job = f
	return f
}}
