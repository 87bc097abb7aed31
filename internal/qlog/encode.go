package qlog

import (
	"math"
	"strconv"

	"github.com/braid-rdma/braid/transport"
)

// maxLine is longer than any event: some twelve fields of at most forty bytes,
// and the name of a device.
const maxLine = 512 + maxName

// line is a JSON object under way.
type line []byte

func (b line) word(key, value string) line {
	b = append(b, `,"`...)
	b = append(b, key...)
	b = append(b, `":"`...)
	b = append(b, value...)
	return append(b, '"')
}

func (b line) number(key string, n int64) line {
	b = append(b, `,"`...)
	b = append(b, key...)
	b = append(b, `":`...)
	return strconv.AppendInt(b, n, 10)
}

// float adds null for what JSON has no number for: a program's own control may
// compute anything.
func (b line) float(key string, f float64) line {
	b = append(b, `,"`...)
	b = append(b, key...)
	b = append(b, `":`...)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(b, "null"...)
	}
	return strconv.AppendFloat(b, f, 'f', 3, 64)
}

// flag adds a field only where it is true.
func (b line) flag(key string, set bool) line {
	if !set {
		return b
	}
	b = append(b, `,"`...)
	b = append(b, key...)
	return append(b, `":true`...)
}

// hex adds a number as RDMA tools print queue pair numbers.
func (b line) hex(key string, n uint32) line {
	b = append(b, `,"`...)
	b = append(b, key...)
	b = append(b, `":"0x`...)
	for shift := 20; shift >= 0; shift -= 4 {
		b = append(b, "0123456789abcdef"[n>>shift&0xf])
	}
	return append(b, '"')
}

// appendEvent appends the line of an event.
func appendEvent(to []byte, now transport.Time, device string, e *transport.TraceEvent) []byte {
	b := append(line(to), `{"time":`...)
	b = strconv.AppendInt(b, int64(now), 10)
	b = b.word("dev", device).hex("qpn", uint32(e.QPN)).word("name", e.Kind.String())
	b = b.fields(e)
	return append(b, '}', '\n')
}

// fields adds what the kind of the event carries.
func (b line) fields(e *transport.TraceEvent) line {
	switch e.Kind {
	case transport.TraceSent, transport.TraceReceived:
		b = b.word("opcode", e.Opcode.String()).number("psn", int64(e.PSN)).number("path", int64(e.Path))
		b = b.number("bytes", int64(e.Bytes))
		if e.IsAck() {
			b = b.word("syndrome", e.Syndrome.String())
		}
		return b.flag("retransmission", e.Again).flag("ecn_ce", e.Marked)
	case transport.TraceAcked:
		return b.number("psn", int64(e.PSN)).number("packets", int64(e.Packets)).number("path", int64(e.Path))
	case transport.TraceLost:
		return b.number("psn", int64(e.PSN)).number("packets", int64(e.Packets)).number("path", int64(e.Path)).
			word("trigger", trigger(e.Signal))
	case transport.TraceMarked, transport.TraceSpurious:
		return b.number("psn", int64(e.PSN)).number("path", int64(e.Path))
	case transport.TraceTimeout:
		return b.number("psn", int64(e.PSN)).number("in_flight", int64(e.Packets))
	case transport.TraceRetired, transport.TraceRestored, transport.TraceProbed:
		return b.number("path", int64(e.Path))
	case transport.TraceWindow:
		return b.float("cwnd", e.Window).number("peer_window", int64(e.PeerWindow)).
			number("in_flight", int64(e.InFlight)).number("smoothed_rtt", int64(e.RTT))
	case transport.TraceRate:
		return b.float("rate", e.Rate)
	case transport.TraceBlocked:
		return b.word("reason", e.Reason.String())
	case transport.TraceState:
		return b.word("state", e.State.String())
	}
	return b
}

// trigger says how a loss was noticed.
func trigger(s transport.Signal) string {
	if s == transport.TimedOut {
		return "timeout"
	}
	return "nak"
}
