package mad

import (
	"fmt"
	"time"
)

// ServiceID names what a REQ wants to be connected to.
type ServiceID uint64

// portSpaceTCP is where the RDMA CM keeps the ports of connected services.
const portSpaceTCP ServiceID = 0x0000000001060000

// PortService is the service of a port of the TCP port space.
func PortService(port uint16) ServiceID { return portSpaceTCP | ServiceID(port) }

// Port is the port of a service in the TCP port space; false for any other.
func (s ServiceID) Port() (uint16, bool) {
	return uint16(s), s&^0xffff == portSpaceTCP
}

// Interval is a time as management datagrams state it: a code c of five bits
// that stands for 4.096 µs · 2^c.
type Interval uint8

// maxInterval is the largest code, of about two and a half hours.
const maxInterval Interval = 31

// Duration is the time that the code stands for.
func (i Interval) Duration() time.Duration {
	return 4096 * time.Nanosecond << min(i, maxInterval)
}

// MTU is the code of a path MTU: 1 for 256 bytes up to 5 for 4096.
type MTU uint8

// Bytes is the path MTU; zero for a code that means none.
func (m MTU) Bytes() int {
	if m < 1 || m > 5 {
		return 0
	}
	return 128 << m
}

// MTUOf is the code of the largest path MTU that is not above a number of bytes; 0:
// there is none.
func MTUOf(bytes int) MTU {
	for m := MTU(5); m >= 1; m-- {
		if m.Bytes() <= bytes {
			return m
		}
	}
	return 0
}

// Reason is why a REJ was sent (table 109).
type Reason uint16

// The reasons of the specification that concern RoCE.
const (
	ReasonNoQP              Reason = 1
	ReasonNoResources       Reason = 3
	ReasonTimeout           Reason = 4
	ReasonUnsupported       Reason = 5
	ReasonInvalidCommID     Reason = 6
	ReasonInvalidInstance   Reason = 7
	ReasonInvalidService    Reason = 8
	ReasonInvalidTransport  Reason = 9
	ReasonStale             Reason = 10
	ReasonInvalidGID        Reason = 12
	ReasonInvalidHopLimit   Reason = 16
	ReasonInvalidPacketRate Reason = 17
	ReasonRedirect          Reason = 24
	ReasonPortRedirect      Reason = 25
	ReasonInvalidMTU        Reason = 26
	ReasonTooFewResources   Reason = 27
	ReasonConsumer          Reason = 28
	ReasonInvalidRNRRetry   Reason = 29
	ReasonDuplicateCommID   Reason = 30
	ReasonInvalidVersion    Reason = 31
)

var reasonTexts = map[Reason]string{
	ReasonNoQP:              "no queue pair available",
	ReasonNoResources:       "no resources available",
	ReasonTimeout:           "timeout",
	ReasonUnsupported:       "unsupported request",
	ReasonInvalidCommID:     "invalid communication identifier",
	ReasonInvalidInstance:   "invalid communication instance",
	ReasonInvalidService:    "nobody listens on the port",
	ReasonInvalidTransport:  "invalid transport service type",
	ReasonStale:             "stale connection",
	ReasonInvalidGID:        "invalid address",
	ReasonInvalidHopLimit:   "invalid hop limit",
	ReasonInvalidPacketRate: "invalid packet rate",
	ReasonRedirect:          "connection manager redirected",
	ReasonPortRedirect:      "port redirected",
	ReasonInvalidMTU:        "path MTU not supported",
	ReasonTooFewResources:   "too few responder resources",
	ReasonConsumer:          "rejected by the program",
	ReasonInvalidRNRRetry:   "invalid RNR retry count",
	ReasonDuplicateCommID:   "duplicate communication identifier",
	ReasonInvalidVersion:    "version not supported",
}

// String says the reason in words.
func (r Reason) String() string {
	if text, ok := reasonTexts[r]; ok {
		return text
	}
	return fmt.Sprintf("reason %d", uint16(r))
}
