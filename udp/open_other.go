//go:build !linux

package udp

import "github.com/braid-rdma/braid/verbs"

// Open fails on systems other than Linux.
func Open(Config) (*verbs.Device, error) { return nil, ErrUnsupported }
