package command

import (
	"github.com/braid-rdma/braid/internal/demo"
	"github.com/braid-rdma/braid/udp"
	"github.com/braid-rdma/braid/verbs"
)

// faultsOf is the fault filter of a device.
func faultsOf(d *verbs.Device) demo.Faults { return udp.FaultsOf(d) }
