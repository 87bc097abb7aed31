package udp

import (
	"runtime"
	"runtime/metrics"
	"sync"

	"github.com/braid-rdma/braid/transport"
)

// yieldInterval is how long a thread spins in vain before it looks whether another
// goroutine waits for a processor.
const yieldInterval = 50 * transport.Microsecond

// yielder lets other goroutines run while a thread spins: with few processors one
// of them may be what the spinning thread waits for, and the runtime would preempt
// it only after 10 ms.
//
// It yields only if somebody waits. A needless yield wakes another thread of this
// process to take the goroutine over, which costs some 5 us of a processor that
// the peer may need, and leaves the goroutine on a processor with a cold cache.
type yielder struct {
	mu       sync.Mutex
	last     transport.Time
	runnable [1]metrics.Sample
}

func (y *yielder) init() { y.runnable[0].Name = "/sched/goroutines/runnable:goroutines" }

// lookSoon has the next round in vain look for others.
func (y *yielder) lookSoon() {
	y.mu.Lock()
	y.last = 0
	y.mu.Unlock()
}

// wanted is asked in each round in vain: whether others wait for a processor.
func (y *yielder) wanted(now transport.Time) bool {
	if !y.mu.TryLock() {
		return false // another thread is at it
	}
	wanted := false
	if now-y.last >= yieldInterval {
		y.last = now
		metrics.Read(y.runnable[:])
		v := &y.runnable[0].Value
		wanted = v.Kind() != metrics.KindUint64 || v.Uint64() > 0
	}
	y.mu.Unlock()
	return wanted
}

// yieldThread lets others run on the processor of a goroutine that has locked its thread. Without the lock they run on
// that thread: else the runtime would have to wake another for them, which costs as much as several packets, and
// then this one again.
func yieldThread() {
	runtime.UnlockOSThread()
	runtime.Gosched()
	runtime.LockOSThread()
}
