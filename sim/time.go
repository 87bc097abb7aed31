package sim

import (
	"fmt"
	"math"

	"github.com/braid-rdma/braid/transport"
)

// Time is virtual time in picoseconds: a byte at 100 Gb/s takes 80 of them.
type Time int64

// Durations in the unit of Time.
const (
	Picosecond  Time = 1
	Nanosecond       = 1000 * Picosecond
	Microsecond      = 1000 * Nanosecond
	Millisecond      = 1000 * Microsecond
	Second           = 1000 * Millisecond
)

// never is later than every instant.
const never Time = math.MaxInt64

// Seconds is t in seconds.
func (t Time) Seconds() float64 { return float64(t) / float64(Second) }

// Microseconds is t in microseconds.
func (t Time) Microseconds() float64 { return float64(t) / float64(Microsecond) }

// String prints t in the unit that suits it.
func (t Time) String() string {
	switch {
	case t < Microsecond:
		return fmt.Sprintf("%.3f ns", float64(t)/float64(Nanosecond))
	case t < Millisecond:
		return fmt.Sprintf("%.3f µs", t.Microseconds())
	case t < Second:
		return fmt.Sprintf("%.3f ms", float64(t)/float64(Millisecond))
	}
	return fmt.Sprintf("%.3f s", t.Seconds())
}

// The transport counts whole nanoseconds from 1 on, because zero means "not
// armed" to it.

// wallClock is t as the transport sees it.
func (t Time) wallClock() transport.Time { return transport.Time(t/Nanosecond) + 1 }

// instantOf is the first instant at which the transport's clock shows w.
func instantOf(w transport.Time) Time {
	if w >= transport.Time(never/Nanosecond) {
		return never
	}
	return Time(w-1) * Nanosecond
}
