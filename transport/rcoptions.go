package transport

import (
	"fmt"
	"time"
)

// RCOptions are the choices of an RC queue pair that its wire format leaves
// open. The zero value is the default: what it puts on the wire is the same
// with and without the field, at the engine's own speed.
type RCOptions struct {
	// Recovery says how much is sent again after a loss.
	Recovery Recovery
	// Rate makes the control of the sending rate, anew for each connection; nil:
	// packets leave as soon as the window allows. A rate paces requests and READ
	// responses, also those sent again; acknowledgements and congestion notices
	// are never held back.
	Rate func() RateControl
	// Notices says how the peer is told that its packets arrive marked.
	Notices Notices
	// CNPInterval is the shortest time between two congestion notices that this
	// end sends; 0: 50 µs, as DCQCN's notification point does.
	CNPInterval time.Duration
	// Overhead is what the network adds to each packet, in bytes (UDP, IP and
	// link headers), where the rate is meant to include it.
	Overhead int
	// CatchUp is how much time an engine may be late with packets that the rate held back and
	// have them follow each other at once, so that the rate is kept by one that sleeps
	// between bursts. 0: none, unless the engine has a default.
	CatchUp time.Duration
	// Path is the virtual path of all packets, counted from 1: queue pairs with
	// different ones leave by different source ports, as far as the engine has them.
	// 0: the engine chooses.
	Path int
}

// Notices is a way to tell the peer that its packets arrive marked.
type Notices uint8

const (
	// PromptNotices sends a congestion notice (CNP) at once, unless the last one is
	// less than CNPInterval ago.
	PromptNotices Notices = iota
	// PolledNotices looks every CNPInterval, counted from the first packet, and sends a
	// congestion notice if a marked packet has arrived since it looked last. The ns-3
	// code of DCQCN's authors does so.
	PolledNotices
	// NoticesInAcks asks for an acknowledgement of every packet; that of a marked one
	// has BECN set, and no other notice is sent. HPCC's ns-3 code does so. Both ends must
	// use it. Responses to READs are not acknowledged: for them it is PromptNotices.
	NoticesInAcks
)

// Recovery is a way to recover from a loss on an RC connection.
type Recovery uint8

const (
	// GoBackN sends everything again from the lost packet on (IBTA 9.7.5.2).
	GoBackN Recovery = iota
	// GoBackZero sends the whole message again from its first packet, and the
	// receiver forgets what it had of it. Early RoCE NICs did so, and one lost
	// packet in 256 stopped them for good ("RDMA over commodity Ethernet at
	// scale", SIGCOMM '16, §4.1). It is here to show that; both ends must use it.
	GoBackZero
)

// defaultCNPInterval is DCQCN's at the notification point: at most one
// congestion notice per 50 µs and queue pair.
const defaultCNPInterval = 50 * Microsecond

// maxOverhead bounds what a network may add to a packet: more than any stack
// of tunnels does.
const maxOverhead = 1024

func (o *RCOptions) check() error {
	switch {
	case o.Recovery > GoBackZero:
		return fmt.Errorf("%w: loss recovery %d", ErrAttr, o.Recovery)
	case o.Notices > NoticesInAcks:
		return fmt.Errorf("%w: congestion notices %d", ErrAttr, o.Notices)
	case o.CNPInterval < 0:
		return fmt.Errorf("%w: interval of congestion notices %v", ErrAttr, o.CNPInterval)
	case o.Overhead < 0 || o.Overhead > maxOverhead:
		return fmt.Errorf("%w: overhead of %d bytes", ErrAttr, o.Overhead)
	case o.CatchUp < 0:
		return fmt.Errorf("%w: %v to catch up with", ErrAttr, o.CatchUp)
	case o.Path < 0 || o.Path > MaxPaths:
		return fmt.Errorf("%w: path %d", ErrAttr, o.Path)
	}
	return nil
}

// cnpInterval is the shortest time between two congestion notices.
func (o *RCOptions) cnpInterval() Time {
	if o.CNPInterval == 0 {
		return defaultCNPInterval
	}
	return Time(o.CNPInterval)
}
