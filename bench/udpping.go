package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/braid-rdma/braid/internal/statistics"
)

const (
	pingBytes = 64

	// pingWarmup round trips are not counted: they fault in pages and wake up
	// the processor's clock.
	pingWarmup = 1000

	// pingTimeout is far beyond any round trip on loopback: a ping that is
	// answered later is lost.
	pingTimeout = 2 * time.Second

	// maxPings bounds the memory for samples.
	maxPings = 1 << 22
)

// measureUDP measures a plain ping-pong between two processes: what a program
// pays that does nothing but cross the kernel.
var measureUDP = betweenTwo("udp")

// serveUDP echoes every datagram of the first peer that sends one, until the
// process is killed.
func serveUDP(out io.Writer) error {
	runtime.LockOSThread()
	socket, err := openUDP()
	if err != nil {
		return err
	}
	bound, err := unix.Getsockname(socket)
	if err != nil {
		return err
	}
	local, ok := bound.(*unix.SockaddrInet4)
	if !ok {
		return fmt.Errorf("the socket is bound to %T, not to an IPv4 address", bound)
	}
	address := netip.AddrPortFrom(netip.AddrFrom4(local.Addr), uint16(local.Port))
	if _, err := fmt.Fprintf(out, "%s%s\n", readyPrefix, address); err != nil {
		return err
	}
	buf := make([]byte, pingBytes)
	n, peer, err := unix.Recvfrom(socket, buf, 0)
	if err != nil {
		return err
	}
	// From here on the peer is fixed, and neither side allocates an address
	// for each datagram.
	if err := unix.Connect(socket, peer); err != nil {
		return err
	}
	for {
		if _, err := unix.Write(socket, buf[:n]); err != nil {
			return err
		}
		if n, err = readRetrying(socket, buf); err != nil {
			return err
		}
	}
}

// pingUDP plays ping-pong for the given time and prints the percentiles of half
// the round trip.
func pingUDP(address string, duration time.Duration, out io.Writer) error {
	runtime.LockOSThread()
	server, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	socket, err := openUDP()
	if err != nil {
		return err
	}
	defer unix.Close(socket)
	if err := unix.Connect(socket, &unix.SockaddrInet4{Port: int(server.Port()), Addr: server.Addr().As4()}); err != nil {
		return err
	}
	timeout := unix.NsecToTimeval(pingTimeout.Nanoseconds())
	if err := unix.SetsockoptTimeval(socket, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &timeout); err != nil {
		return err
	}
	if _, err := roundTrips(socket, time.Minute, pingWarmup); err != nil {
		return err
	}
	trips, err := roundTrips(socket, duration, maxPings)
	if err != nil {
		return err
	}
	slices.Sort(trips)
	return json.NewEncoder(out).Encode(sample{
		P50Micros: halfMicros(trips, 0.50),
		P99Micros: halfMicros(trips, 0.99),
	})
}

// roundTrips pings until the time is over or the count is reached, and returns
// how long each round trip took.
func roundTrips(socket int, duration time.Duration, count int) ([]time.Duration, error) {
	// The memory is touched now, or the page faults would be measured.
	trips := make([]time.Duration, count)
	for i := range trips {
		trips[i] = 1
	}
	buf := make([]byte, pingBytes)
	start := time.Now()
	end := start.Add(duration)
	for i := range trips {
		if _, err := unix.Write(socket, buf); err != nil {
			return nil, err
		}
		if _, err := readRetrying(socket, buf); err != nil {
			return nil, fmt.Errorf("waiting for the echo: %w", err)
		}
		now := time.Now()
		trips[i] = now.Sub(start)
		if now.After(end) {
			return trips[:i+1], nil
		}
		start = now
	}
	return trips, nil
}

// readRetrying reads one datagram; the signals by which the Go runtime preempts
// a thread may interrupt the call.
func readRetrying(socket int, buf []byte) (int, error) {
	for {
		n, err := unix.Read(socket, buf)
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}

// openUDP opens a blocking socket on a free port of loopback.
func openUDP() (int, error) {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return -1, err
	}
	unix.CloseOnExec(socket)
	if err := unix.Bind(socket, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		unix.Close(socket)
		return -1, err
	}
	return socket, nil
}

// halfMicros is the quantile of sorted round trips, halved, in microseconds.
func halfMicros(sorted []time.Duration, quantile float64) float64 {
	return float64(statistics.Quantile(sorted, quantile).Nanoseconds()) / 2 / 1000
}
