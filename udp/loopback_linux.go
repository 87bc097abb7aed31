package udp

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
)

// loopbackTries bounds the search for a free loopback address. With millions to choose
// from, so many in use means that some program holds the port on all addresses.
const loopbackTries = 64

// openLoopback opens a receiving socket on a free address of 127.0.0.0/8, so that any
// number of processes on one host can each have port 4791 without configuration. It
// returns the open socket rather than the address, because an address that was only
// found to be free could be taken before it is used. The search starts at random: then
// processes that start together rarely meet.
func openLoopback(port uint16, opt rxOptions) (*rxSocket, error) {
	host := 2 + rand.Uint32N(1<<24-3)
	var last error
	for range loopbackTries {
		socket, err := openRx(netip.AddrPortFrom(loopbackAddr(host), port), opt)
		if err == nil {
			return socket, nil
		}
		last = err
		if !errors.Is(err, ErrPortInUse) {
			break
		}
		host = nextLoopback(host)
	}
	return nil, fmt.Errorf("udp: no loopback address has port %d free: %w", port, last)
}

// loopbackAddr returns the address 127.x.y.z whose lower 24 bits are host.
func loopbackAddr(host uint32) netip.Addr {
	return netip.AddrFrom4([4]byte{127, byte(host >> 16), byte(host >> 8), byte(host)})
}

// nextLoopback steps to the next host number and wraps, leaving out 127.0.0.0, the
// broadcast address 127.255.255.255, and 127.0.0.1, which people choose by hand.
func nextLoopback(host uint32) uint32 {
	if host >= 1<<24-2 {
		return 2
	}
	return host + 1
}
