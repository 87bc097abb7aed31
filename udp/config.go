package udp

import (
	"fmt"
	"io"
	"net/netip"
	"runtime"
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
	// it listens (verbs.Device.Listen). Programs of one user share them.
	Addr netip.Addr
	// Loopback leaves it at that: the device has a free address of 127.0.0.0/8 and no
	// other, so that only programs on this host reach it. Addr must be zero then.
	Loopback bool
	// Exclusive keeps the device's addresses for itself. Otherwise devices of the same user,
	// in this process and in others, may have them too.
	Exclusive bool
	// Loops is how many loops move the device's packets side by side, each those of its own queue pairs, with a
	// thread and sockets of its own; up to 16. Queue pairs are spread over them: those of different completion queues,
	// whose threads then do not meet, and those of one. 0 means half as many as processors, from 1 to 4. Where the
	// kernel does not let sockets share an address there is one (Stats.LoopsRefused). A device with a Capture has one.
	Loops int
	// Port is the UDP port to receive on and to send to; 0 means 4791.
	Port uint16
	// Paths is the number of virtual paths that a connection may have, each from a
	// source port of its own; 0 means 128. Sockets are opened as paths are used.
	Paths int
	// SourcePorts is the number of source ports: those beyond Paths are what probing
	// tries as new virtual paths (MP-RDMA §3.5). 0 means as many as Paths where that is
	// set, and 512 otherwise.
	SourcePorts int
	// FirstSourcePort fixes the source ports (consecutive ones in the order of their
	// first use, skipping those in use); 0 lets the kernel choose.
	FirstSourcePort uint16
	// MTU is the largest payload of a packet, a multiple of 4; 0 means the largest that
	// fits the interface: 16320 on the loopback, elsewhere up to 8192. RC and UD queue pairs have the largest power
	// of two within it, up to 4096.
	MTU int
	// DSCP is the traffic class of what is sent. All packets are ECN-capable.
	DSCP uint8
	// RecvBuffer and SendBuffer are the socket buffers to ask for, in bytes; 0
	// means a good default. The kernel may grant less (net.core.rmem_max).
	RecvBuffer, SendBuffer int
	// Spin is the longest that a waiting thread polls before it blocks; whether it does at all it learns
	// from how its waits end. 0 means 50 µs, negative never.
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
	// defaultPaths lets one connection meet all of 16 equal-cost paths: the network
	// hashes each source port to one of them, and 128 random ones miss none of 16 in
	// 99.6 % of all cases (64 in 77 %, 16 in none).
	defaultPaths = 128
	// defaultSourcePorts does the same for 64, by way of probing.
	defaultSourcePorts = 512
	// maxSources bounds the source ports of a device: each that is in use costs a file
	// descriptor and about 3 KB of the kernel's memory.
	maxSources  = 1024
	defaultSpin = 50 * time.Microsecond
	// maxLoops leaves parts of the numbers to other devices.
	maxLoops = 16
)

// defaultLoops leaves half of the processors to the program, and has one loop where there is one for it. More
// than four are for who knows that the program needs them.
func defaultLoops() int { return max(1, min(runtime.GOMAXPROCS(0)/2, 4)) }

func (c Config) withDefaults() (Config, error) {
	if c.Port == 0 {
		c.Port = wire.UDPPort
	}
	if c.Paths == 0 {
		c.Paths = defaultPaths
		orDefault(&c.SourcePorts, defaultSourcePorts)
	}
	orDefault(&c.SourcePorts, c.Paths)
	if c.Spin == 0 {
		c.Spin = defaultSpin
	}
	if c.Loops == 0 {
		c.Loops = 1
		if c.Capture == nil {
			c.Loops = defaultLoops()
		}
	}
	switch {
	case c.Loops < 1 || c.Loops > maxLoops:
		return c, fmt.Errorf("udp: %w: %d loops; choose 1 to %d", transport.ErrAttr, c.Loops, maxLoops)
	case c.Loops > 1 && c.Capture != nil:
		return c, fmt.Errorf("udp: %w: a capture is of one loop, not of %d", transport.ErrAttr, c.Loops)
	case c.Loopback && c.Addr.IsValid():
		return c, fmt.Errorf("udp: %w: Loopback chooses the address; leave out %v", transport.ErrAttr, c.Addr)
	case c.Paths < 1 || c.Paths > transport.MaxPaths:
		return c, fmt.Errorf("udp: %w: %d paths; choose 1 to %d", transport.ErrAttr, c.Paths, transport.MaxPaths)
	case c.SourcePorts < c.Paths || c.SourcePorts > maxSources:
		return c, fmt.Errorf("udp: %w: %d source ports for %d paths; choose as many as paths, up to %d", transport.ErrAttr, c.SourcePorts, c.Paths, maxSources)
	case c.MTU != 0 && !transport.ValidMPMTU(c.MTU):
		return c, fmt.Errorf("udp: %w: path MTU %d; choose a multiple of 4 from %d to %d", transport.ErrAttr, c.MTU, transport.MinMTU, transport.MaxMPMTU)
	case c.DSCP > 63:
		return c, fmt.Errorf("udp: %w: DSCP %d; it has six bits", transport.ErrAttr, c.DSCP)
	case c.RecvBuffer < 0 || c.SendBuffer < 0:
		return c, fmt.Errorf("udp: %w: a socket buffer cannot be negative", transport.ErrAttr)
	}
	return c, nil
}

func orDefault(field *int, value int) {
	if *field == 0 {
		*field = value
	}
}
