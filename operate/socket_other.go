//go:build !linux

package operate

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net"
)

var errSystem = fmt.Errorf("the socket for operators needs Linux: %w", errors.ErrUnsupported)

func listen(*Identity) (*net.UnixListener, error) { return nil, errSystem }

func checkPeer(*net.UnixConn) error { return errSystem }

func sockets() iter.Seq[string] { return func(func(string) bool) {} }

func dial(context.Context, string) (net.Conn, error) { return nil, errSystem }
