package command

import (
	"fmt"
	"net/netip"

	"github.com/braid-rdma/braid/cmd/braid/internal/cli"
	"github.com/braid-rdma/braid/udp"
	"github.com/braid-rdma/braid/verbs"
)

// opener opens UDP devices for the tools: at the address that the peer
// reaches, or at the one that the user named.
type opener struct {
	local string // as the user gave it; empty: not given
	paths int    // 0: the engine's default
	mtu   int    // 0: what the interface carries
	loops int    // 0: as the machine has processors
	dscp  uint8  // traffic class
	anyID bool   // peers may be of other makes, whose IP identifications count up
}

// check refuses an address that is none.
func (o *opener) check() error {
	if o.local == "" {
		return nil
	}
	if _, err := netip.ParseAddr(o.local); err != nil {
		return cli.Usage(fmt.Errorf("--local %q is no IP address", o.local))
	}
	return nil
}

// setTOS sets the traffic class by the byte of the IP header that it is a part of.
func (o *opener) setTOS(tos int) error {
	if tos < 0 || tos > 255 {
		return cli.Usage(fmt.Errorf("--tos %d: use 0 to 255", tos))
	}
	o.dscp = uint8(tos) >> 2
	return nil
}

// open opens a device; at a loopback address that is free, if the peer reaches none
// in particular.
func (o *opener) open(reached netip.Addr) (*verbs.Device, error) {
	if o.local != "" {
		var err error
		if reached, err = netip.ParseAddr(o.local); err != nil {
			return nil, err
		}
	}
	return udp.Open(udp.Config{Addr: reached, Loopback: !reached.IsValid(), Paths: o.paths, Loops: o.loops, MTU: o.mtu, AnyIPID: o.anyID, DSCP: o.dscp})
}
