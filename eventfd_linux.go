package braid

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// eventFD tells programs that wait with epoll.
type eventFD struct{ fd int }

// EventFD returns a file descriptor that is readable when Notify would receive, for
// programs that wait with epoll or poll. Call ClearEvent, then take what has come. It is
// closed with the context.
func (c *Context) EventFD() (fd int, err error) {
	c.exclusive(func() {
		if err = c.open(); err != nil || c.eventFD != nil {
			return
		}
		var created int
		if created, err = unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC); err == nil {
			c.eventFD = &eventFD{created}
		}
	})
	if err != nil {
		return -1, fmt.Errorf("braid: event file descriptor: %w", err)
	}
	return c.eventFD.fd, nil
}

// ClearEvent makes the descriptor of EventFD unreadable until the next event.
func (c *Context) ClearEvent() {
	if c.eventFD != nil {
		var count [8]byte
		_, _ = unix.Read(c.eventFD.fd, count[:]) // there may be none
	}
}

func (e *eventFD) tell() {
	one := [8]byte{1}
	_, _ = unix.Write(e.fd, one[:]) // full: it is readable
}

func (e *eventFD) close() { _ = unix.Close(e.fd) }
