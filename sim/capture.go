package sim

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strconv"

	"github.com/braid-rdma/braid/internal/pcapng"
	"github.com/braid-rdma/braid/wire"
)

// ErrWorkers means that something was asked of a network with several workers
// that needs a single one.
var ErrWorkers = errors.New("sim: needs a single worker")

// maxScenario bounds the name in comments, so that a comment always fits.
const maxScenario = 120

// ECN codepoints of the IP header.
const (
	ecnCapable     = 0b10 // ECT(0), as RoCEv2 senders set it
	ecnCongestion  = 0b11
	dscpOfPriority = 3 // a priority is the upper three bits of the DSCP
	ecnBits        = 2
)

// Capture writes every packet that enters a link from now on to w, as a pcapng
// that tshark reads, until the network is no longer run. Packets carry the
// virtual time, the headers that they would have on a wire with a valid ICRC, the
// ECN bits as they are on this link, and a comment with the virtual path, the
// link and the name of the scenario. Payload that only has a length is zeros.
//
// The network must have a single worker. An error of w ends the capture and is
// what CaptureErr returns.
func (n *Network) Capture(link string, d Direction, scenario string, w io.Writer) error {
	if n.cfg.Workers > 1 {
		return fmt.Errorf("%w to capture a link, the network has %d", ErrWorkers, n.cfg.Workers)
	}
	n.undivide()
	number, ok := n.graph.LinkNamed(link)
	if !ok {
		return fmt.Errorf("%w: there is no link %q%s", ErrConfig, link, n.similarLink(link))
	}
	if len(scenario) > maxScenario {
		return fmt.Errorf("%w: the name of the scenario has %d bytes, at most %d fit a comment", ErrConfig, len(scenario), maxScenario)
	}
	out, err := pcapng.NewWriter(w)
	if err != nil {
		return err
	}
	c := &capture{net: n, out: out, scenario: scenario}
	n.captures = append(n.captures, c)
	for i, lane := range n.lanes[2*number : 2*number+2] {
		if d == Both || d == Forth && i == 0 || d == Back && i == 1 {
			c.tap(lane, i)
		}
	}
	return nil
}

// CaptureErr is the first error that ended a capture, or nil.
func (n *Network) CaptureErr() error {
	for _, c := range n.captures {
		if c.err != nil {
			return c.err
		}
	}
	return nil
}

// capture writes the packets of a link.
type capture struct {
	net      *Network
	out      *pcapng.Writer
	scenario string
	record   pcapng.Packet
	body     []byte
	comment  []byte
	err      error
}

// tap makes a lane show its packets, beside whoever looks at it already.
func (c *capture) tap(lane *egress, direction int) {
	earlier := lane.tap
	heading := [...]pcapng.Direction{pcapng.Outbound, pcapng.Inbound}[direction]
	lane.tap = func(at Time, p *packet) {
		if earlier != nil {
			earlier(at, p)
		}
		if c.err == nil {
			c.err = c.write(lane, heading, at, p)
		}
	}
}

// write adds one packet.
func (c *capture) write(lane *egress, heading pcapng.Direction, at Time, p *packet) error {
	c.body = p.appendBytes(c.body[:0])
	ecn := byte(ecnCapable)
	if p.marked {
		ecn = ecnCongestion
	}
	d := pcapng.Datagram{
		Src: netip.AddrPortFrom(hostAddr(int(p.src)), p.sport),
		Dst: netip.AddrPortFrom(hostAddr(int(p.dst)), roceUDPPort),
		TOS: p.priority<<(dscpOfPriority+ecnBits) | ecn, ID: p.identification(),
	}
	var err error
	if c.record.Data, err = d.Append(c.record.Data[:0], c.body); err != nil {
		return err
	}
	c.record.Time = int64(at / Nanosecond)
	c.record.Direction = heading
	c.record.Comment = c.describe(lane, p)
	return c.out.WritePacket(&c.record)
}

// describe says what the bytes do not.
func (c *capture) describe(lane *egress, p *packet) []byte {
	b := c.comment[:0]
	b = append(b, "path "...)
	b = strconv.AppendUint(b, uint64(p.Path), 10)
	b = append(b, ", link "...)
	b = append(b, lane.name...)
	if p.corrupt {
		b = append(b, ", damaged"...)
	}
	if c.scenario != "" {
		b = append(b, ", scenario "...)
		b = append(b, c.scenario...)
	}
	c.comment = b
	return b[:min(len(b), pcapng.MaxComment)]
}

// appendBytes makes the bytes of a packet: those it has, or those it would have.
func (p *packet) appendBytes(b []byte) []byte {
	if len(p.bytes) > 0 {
		return append(b, p.bytes...)
	}
	start := len(b)
	headers := p.Headers
	headers.Pad = wire.PadLen(p.Length)
	b = headers.Append(b)
	if len(p.payload) == p.Length {
		b = append(b, p.payload...)
	} else {
		b = slices.Grow(b, p.Length)
		b = append(b, make([]byte, p.Length)...)
	}
	for range headers.Pad {
		b = append(b, 0)
	}
	return wire.AppendICRC(b, p.icrcOf(b[start:]))
}
