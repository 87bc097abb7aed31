//go:build !linux

package command

import (
	"github.com/braid-rdma/braid/internal/demo"
	"github.com/braid-rdma/braid/verbs"
)

// faultsOf has nothing to return: on this system no device can be opened.
func faultsOf(*verbs.Device) demo.Faults { return nil }
