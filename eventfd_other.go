//go:build !linux

package braid

import "errors"

// eventFD exists on Linux only.
type eventFD struct{}

// EventFD returns an error: this system has no eventfd. Use Notify.
func (c *Context) EventFD() (int, error) {
	return -1, errors.New("braid: event file descriptors exist on Linux only; use Notify")
}

// ClearEvent does nothing.
func (c *Context) ClearEvent() {}

func (e *eventFD) tell()  {}
func (e *eventFD) close() {}
