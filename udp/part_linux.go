package udp

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"golang.org/x/sys/unix"

	"github.com/braid-rdma/braid/verbs"
	"github.com/braid-rdma/braid/wire"
)

// Devices that share an address tell their packets apart by the upper bits of the queue pair's number:
// each device of a network namespace has a part of the numbers to itself.

const (
	// partBits leaves a device four times the numbers that it has queue pairs at most, so that those of
	// queue pairs which are gone are rarely seen again; and more devices than a host has processors.
	partBits = 6
	parts    = 1 << partBits
	// loopParts is how many of them the further loops of devices may have, so that there are some for devices.
	loopParts = parts / 2
)

// part is a claim to a part of the numbers. It is a socket bound to a name, since the kernel gives a
// name to one socket only and takes it back when the process dies, however it dies.
type part struct {
	number int // -1: none, the device has all numbers and shares no address
	claim  int // the socket
	port   uint16
	// further: it is that of a further loop of a device.
	further bool
}

// noClaim is that of a device which shares nothing.
var noClaim = part{number: -1, claim: -1}

// claimPart takes one of the first parts that no device with the same UDP port has, if there is one.
func claimPart(port uint16, among int) part {
	first := rand.IntN(among)
	for i := range among {
		p := part{number: (first + i) % among, port: port}
		fd, err := bindName(partName(port, p.number))
		if err == nil {
			p.claim = fd
			return p
		}
		if !errors.Is(err, unix.EADDRINUSE) {
			break // no files, or no Unix sockets in the sandbox
		}
	}
	return noClaim
}

func partName(port uint16, number int) string { return fmt.Sprintf("@braid/%d/part/%d", port, number) }

// bindName takes an abstract name: one that is in no file system.
func bindName(name string) (fd int, err error) {
	fd, err = unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: name}); err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// nameTaken says whether somebody has a name.
func nameTaken(name string) bool {
	fd, err := bindName(name)
	if err == nil {
		_ = unix.Close(fd)
	}
	return err != nil
}

// numbers is the part as verbs knows it.
func (p *part) numbers() verbs.Part {
	if p.number < 0 {
		return verbs.Part{}
	}
	return verbs.Part{Bits: partBits, Value: uint32(p.number)}
}

// partOf is the part that a queue pair's number is in.
func partOf(n wire.QPN) int { return int(n >> (24 - partBits)) }

func (p *part) release() {
	if p.claim >= 0 {
		_ = unix.Close(p.claim)
		p.claim = -1
	}
}
