package braid

import (
	"fmt"
	"sync"

	"golang.org/x/sys/unix"
)

// eventFD tells programs that wait with epoll. When it is closed its number may soon be that of another file, which
// nobody may write to or read from any more: hence the lock.
type eventFD struct {
	mu sync.Mutex
	fd int // -1: closed
}

// EventFD returns a file descriptor that is readable when Notify would receive, for
// programs that wait with epoll or poll. Call ClearEvent, then take what has come. It is
// closed with the context.
func (c *Context) EventFD() (fd int, err error) {
	c.exclusive(func() {
		if err = c.open(); err != nil {
			return
		}
		if e := c.eventFD.Load(); e != nil {
			fd = e.fd
			return
		}
		if fd, err = unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC); err == nil {
			c.eventFD.Store(&eventFD{fd: fd})
		}
	})
	if err != nil {
		return -1, fmt.Errorf("braid: event file descriptor: %w", err)
	}
	return fd, nil
}

// ClearEvent makes the descriptor of EventFD unreadable until the next event.
func (c *Context) ClearEvent() {
	if e := c.eventFD.Load(); e != nil {
		var count [8]byte
		e.use(func(fd int) { _, _ = unix.Read(fd, count[:]) }) // there may be none
	}
}

func (e *eventFD) tell() {
	one := [8]byte{1}
	e.use(func(fd int) { _, _ = unix.Write(fd, one[:]) }) // full: it is readable
}

func (e *eventFD) use(f func(fd int)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.fd >= 0 {
		f(e.fd)
	}
}

func (e *eventFD) close() {
	e.use(func(fd int) {
		_ = unix.Close(fd)
		e.fd = -1
	})
}
