package udp

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// exactTime is the time below which a wait is not made longer by what the kernel allows itself for timers, which is
// 50 µs where nobody asks for less.
const exactTime = 400 * time.Microsecond

// setTimerSlack says how late timers of this thread may be; 0: what the thread had at first.
func setTimerSlack(d time.Duration) {
	_, _, _ = unix.RawSyscall(unix.SYS_PRCTL, unix.PR_SET_TIMERSLACK, uintptr(d), 0)
}

// waker ends the wait of the loop from another goroutine. Its eventfd is written at
// most once per wait, however many goroutines wake.
type waker struct {
	fd      int
	pending atomic.Bool // the eventfd has been written and not yet read
}

// newWaker opens an eventfd.
func newWaker() (*waker, error) {
	fd, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	if err != nil {
		return nil, explainFile("open an eventfd", err)
	}
	return &waker{fd: fd}, nil
}

// wake makes the current or the next wait return. Whoever has work for the loop puts
// it where the loop looks, and then calls wake. It may be called by any goroutine.
func (w *waker) wake() {
	if w.pending.Swap(true) {
		return
	}
	one := uint64(1)
	// The counter cannot overflow, because nobody writes twice before it is read.
	_, _, _ = unix.RawSyscall(unix.SYS_WRITE, uintptr(w.fd), uintptr(unsafe.Pointer(&one)), 8)
}

// drain takes note of the wake. The flag falls after the read, so that a wake in
// between writes nothing: the loop looks for work after drain and will find it. In
// the opposite order the read could swallow a wake and leave the flag up for ever.
func (w *waker) drain() {
	var count uint64
	_, _, _ = unix.RawSyscall(unix.SYS_READ, uintptr(w.fd), uintptr(unsafe.Pointer(&count)), 8)
	w.pending.Store(false)
}

// close closes the eventfd. Nobody may call wake any more.
func (w *waker) close() error {
	if w.fd < 0 {
		return nil
	}
	fd := w.fd
	w.fd = -1
	return unix.Close(fd)
}

// pollSet waits for the events of one loop: packets to read, a wake, and room in the
// socket buffers that the last flush found full.
type pollSet struct {
	waker     *waker
	pool      *txPool
	fds       []unix.PollFd // the waker, the receivers, the blocked senders
	receivers []*rxSocket
	ready     []*rxSocket // scratch: those of the last events
	timeout   unix.Timespec
}

// pollEvents says what ended a wait; none after a time-out.
type pollEvents struct {
	readable []*rxSocket // valid until the next wait
	woken    bool
	writable bool // or a path's error is waiting, which the next flush will meet
}

// newPollSet returns a set for the waker and the pool, which may be nil.
func newPollSet(w *waker, pool *txPool) *pollSet {
	return &pollSet{waker: w, pool: pool, fds: make([]unix.PollFd, 0, 2)}
}

// arm notes which sockets to wait for: those that receive, and of the pool those that
// are blocked. It reads the state of the pool, so it belongs to whoever owns that;
// block does not.
func (p *pollSet) arm(receivers ...*rxSocket) {
	p.fds = append(p.fds[:0], unix.PollFd{Fd: int32(p.waker.fd), Events: unix.POLLIN})
	for _, rx := range receivers {
		p.fds = append(p.fds, unix.PollFd{Fd: int32(rx.fd), Events: unix.POLLIN})
	}
	p.receivers = append(p.receivers[:0], receivers...)
	if p.pool != nil {
		for _, socket := range p.pool.opened {
			if socket.blocked {
				p.fds = append(p.fds, unix.PollFd{Fd: int32(socket.fd), Events: unix.POLLOUT})
			}
		}
	}
}

// block waits until something happens or the timeout passes; a negative timeout never
// passes. It takes note of a wake by itself. A signal may end it early, with no event.
func (p *pollSet) block(timeout time.Duration) (events pollEvents, err error) {
	var limit *unix.Timespec
	if timeout >= 0 {
		p.timeout = unix.NsecToTimespec(int64(timeout))
		limit = &p.timeout
	}
	if timeout >= 0 && timeout < exactTime {
		setTimerSlack(time.Nanosecond)
		defer setTimerSlack(0) // as it was: the thread may be the program's
	}
	// Not a RawSyscall: this one may block, and the scheduler must know.
	n, err := unix.Ppoll(p.fds, limit, nil)
	if errors.Is(err, unix.EINTR) {
		return pollEvents{}, nil
	}
	if err != nil {
		return pollEvents{}, fmt.Errorf("udp: wait for packets: %w", err)
	}
	if n == 0 {
		return pollEvents{}, nil
	}
	if p.fds[0].Revents != 0 {
		events.woken = true
		p.waker.drain()
	}
	p.ready = p.ready[:0]
	senders := p.fds[1+len(p.receivers):]
	for i, rx := range p.receivers {
		if p.fds[1+i].Revents != 0 {
			p.ready = append(p.ready, rx)
		}
	}
	events.readable = p.ready
	events.writable = slices.ContainsFunc(senders, func(fd unix.PollFd) bool { return fd.Revents != 0 })
	return events, nil
}
