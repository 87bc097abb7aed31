package udp

import (
	"fmt"
	"io"
	"net/netip"
	"time"

	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/wire"
)

// Config says how to open a device; the zero value is a device that needs no
// configuration.
type Config struct {
	// Addr is the local address, and with it the device has no other. With the
	// zero Addr the device begins with a free address of 127.0.0.0/8, by which
	// devices on one host reach each other; it takes the address that the route to
	// a peer has when it connects to that peer, and all addresses of the host when
	// it listens (verbs.Device.Listen). At each of them one program can hold Port.
	Addr netip.Addr
	// Port is the UDP port to receive on and to send to; 0 means 4791.
	Port uint16
	// Paths is the number of source ports, which are the virtual paths; 0 means 16.
	Paths int
	// FirstSourcePort fixes the source ports (Paths consecutive ones, skipping
	// those in use); 0 lets the kernel choose.
	FirstSourcePort uint16
	// MTU is the path MTU; 0 means the largest that fits the interface.
	MTU int
	// DSCP is the traffic class of what is sent. All packets are ECN-capable.
	DSCP uint8
	// RecvBuffer and SendBuffer are the socket buffers to ask for, in bytes; 0
	// means a good default. The kernel may grant less (net.core.rmem_max).
	RecvBuffer, SendBuffer int
	// Spin is how long a waiting thread polls before it blocks; 0 means 50 µs, negative not at all.
	Spin time.Duration
	// AnyIPID accepts any IP identification in the ICRC of standard packets, as
	// peers need whose identifications count up. It weakens the check of those
	// packets from 32 to 16 bits.
	AnyIPID bool
	// NoSegmentation leaves UDP_SEGMENT and UDP_GRO off.
	NoSegmentation bool
	// Capture, if set, takes a copy of every packet that the device sends or
	// receives, as a pcapng file for Wireshark. Each device needs a writer of its
	// own, which is called once per packet with the device's lock held: a slow one
	// slows the device. An error ends the capture and nothing else; see
	// Stats.CaptureErrors. After Close of the device nothing more is written.
	Capture io.Writer
}

const (
	defaultPaths = 16
	defaultSpin  = 50 * time.Microsecond
)

func (c Config) withDefaults() (Config, error) {
	if c.Port == 0 {
		c.Port = wire.UDPPort
	}
	if c.Paths == 0 {
		c.Paths = defaultPaths
	}
	if c.Spin == 0 {
		c.Spin = defaultSpin
	}
	switch {
	case c.Paths < 1 || c.Paths > transport.MaxPaths:
		return c, fmt.Errorf("udp: %w: %d paths; choose 1 to %d", transport.ErrAttr, c.Paths, transport.MaxPaths)
	case c.MTU != 0 && !transport.ValidMTU(c.MTU):
		return c, fmt.Errorf("udp: %w: path MTU %d; choose 256, 512, 1024, 2048 or 4096", transport.ErrAttr, c.MTU)
	case c.DSCP > 63:
		return c, fmt.Errorf("udp: %w: DSCP %d; it has six bits", transport.ErrAttr, c.DSCP)
	case c.RecvBuffer < 0 || c.SendBuffer < 0:
		return c, fmt.Errorf("udp: %w: a socket buffer cannot be negative", transport.ErrAttr)
	}
	return c, nil
}
