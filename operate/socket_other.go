//go:build !linux

package operate

import (
	"errors"
	"fmt"
	"iter"
	"net"
)

var errSystem = fmt.Errorf("the socket for operators needs Linux: %w", errors.ErrUnsupported)

func listen(*Identity) (*net.UnixListener, error) { return nil, errSystem }

func checkPeer(*net.UnixConn) error { return errSystem }

func sockets() iter.Seq[string] { return func(func(string) bool) {} }
