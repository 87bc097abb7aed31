package braid

import (
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// TraceMode is how a context traces messages (X-RDMA §VI-A).
type TraceMode uint8

const (
	// TraceOff traces nothing but TraceCall and what peers trace.
	TraceOff TraceMode = iota
	// TraceBare keeps the times of this side. Nothing is added to a message.
	TraceBare
	// TraceReqRsp adds times to the header of a message that is sampled and to its response, so that
	// the caller knows where all of the time went.
	TraceReqRsp
)

var traceModes = []string{"off", "bare-data", "req-rsp"}

// String returns the paper's name of the mode.
func (m TraceMode) String() string { return nameOf(traceModes, int(m)) }

// MarshalText implements encoding.TextMarshaler.
func (m TraceMode) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (m *TraceMode) UnmarshalText(text []byte) error {
	i := slices.Index(traceModes, string(text))
	if i < 0 {
		return fmt.Errorf("want one of %s", strings.Join(traceModes, ", "))
	}
	*m = TraceMode(i)
	return nil
}

// Phase is a part of the way of a message.
type Phase uint8

// The phases, in the order of time; each begins where the one before it ends.
const (
	PhasePrepare   Phase = iota // the payload is copied or registered
	PhaseInbox                  // it waits for the owner of the context
	PhaseWindow                 // it waits for the peer's window and the send queue
	PhaseWire                   // from the send queue to the peer's program
	PhaseFetch                  // the receiver reads a large payload
	PhaseWait                   // it waits for a handler, or for Receive
	PhaseHandler                // the application has it
	PhaseReply                  // the response waits to be posted
	PhaseWireBack               // from the peer's send queue to the caller's program
	PhaseFetchBack              // the caller reads a large response
	PhaseDeliver                // until the caller's goroutine runs
	PhaseRemote                 // of a call in bare-data mode: all that is between PhaseWindow and PhaseFetchBack
	PhaseAck                    // of a one-way message: until the sender knows that the application has it
	PhasePoll                   // no part of a message: the device is not polled (see Slow)
)

var phases = []string{
	"prepare", "inbox", "window", "wire", "fetch", "wait", "handler", "reply", "wire back", "fetch back", "deliver", "remote", "ack", "poll",
}

// String returns the name of the phase.
func (p Phase) String() string { return nameOf(phases, int(p)) }

// MarshalText implements encoding.TextMarshaler.
func (p Phase) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (p *Phase) UnmarshalText(text []byte) error {
	i := slices.Index(phases, string(text))
	if i < 0 {
		return fmt.Errorf("braid: no phase %q", text)
	}
	*p = Phase(i)
	return nil
}

func nameOf(names []string, i int) string {
	if i >= len(names) {
		return fmt.Sprintf("%d?", i)
	}
	return names[i]
}

// TraceRole is the part of this side in a traced message.
type TraceRole string

// Whoever sends is the caller or sender, at the other end is the handler or receiver.
const (
	RoleCaller   TraceRole = "caller"
	RoleHandler  TraceRole = "handler"
	RoleSender   TraceRole = "sender"   // of a one-way message
	RoleReceiver TraceRole = "receiver" // of a one-way message
)

// Segment is the time of a phase.
type Segment struct {
	Phase Phase         `json:"phase"`
	Took  time.Duration `json:"ns"`
}

// ClockOffset is how far the peer's clock is ahead of this side's, and by how much that may be wrong.
type ClockOffset struct {
	Offset time.Duration `json:"offset_ns"`
	Bound  time.Duration `json:"bound_ns"`
}

// SpanContext is a place in a distributed trace, as W3C Trace Context has it.
type SpanContext struct {
	TraceID [16]byte
	SpanID  [8]byte
	Flags   byte
}

// IsValid says whether it is a place at all.
func (s SpanContext) IsValid() bool { return s.TraceID != [16]byte{} && s.SpanID != [8]byte{} }

// String returns it as a W3C traceparent.
func (s SpanContext) String() string {
	return fmt.Sprintf("00-%x-%x-%02x", s.TraceID, s.SpanID, s.Flags)
}

// MarshalText implements encoding.TextMarshaler.
func (s SpanContext) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *SpanContext) UnmarshalText(text []byte) error {
	b, err := hex.DecodeString(strings.ReplaceAll(string(text), "-", ""))
	if err != nil || len(b) != 26 || len(text) != 55 {
		return fmt.Errorf("braid: %q is no traceparent", text)
	}
	*s = SpanContext{TraceID: [16]byte(b[1:]), SpanID: [8]byte(b[17:]), Flags: b[25]}
	return nil
}

// Trace is where the time of one message went, seen from one side. It does not change once it is complete.
type Trace struct {
	Role   TraceRole      `json:"role"`
	Mode   TraceMode      `json:"mode"`
	Local  netip.AddrPort `json:"local"`
	Remote netip.AddrPort `json:"remote"`
	// Number is that of the call or message on its channel, the same at both ends; zero in a
	// one-way message of bare-data mode at the receiver.
	Number     uint32 `json:"number"`
	Bytes      int    `json:"bytes"`
	ReplyBytes int    `json:"reply_bytes,omitempty"`

	// Start is by this side's clock as it was when the context was opened. Total is the sum of the segments,
	// which are in the order of time. Those at the peer are by the peer's clock, and Clock says how
	// well the two ways of the wire can be told from each other; its Bound is zero where it is not known.
	Start    time.Time     `json:"start"`
	Total    time.Duration `json:"total_ns"`
	Segments []Segment     `json:"segments"`
	Clock    ClockOffset   `json:"clock,omitzero"`

	Span   SpanContext `json:"span,omitzero"`   // that TraceHooks.Start made
	Parent SpanContext `json:"parent,omitzero"` // the sender's, at the receiver
	Place  string      `json:"place,omitempty"` // the handler
	Err    string      `json:"error,omitempty"`
}

// Took returns the time of a phase.
func (t *Trace) Took(p Phase) (took time.Duration) {
	for _, s := range t.Segments {
		if s.Phase == p {
			took += s.Took
		}
	}
	return took
}

// barWidth is how long the whole of a trace is as a bar, in characters.
const barWidth = 40

// String returns the trace as a table, with a bar for the time of each phase.
func (t *Trace) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s of %s: %v in %s mode", t.Role, t.subject(), t.Total, t.Mode)
	if t.Place != "" {
		fmt.Fprintf(&b, ", %s", t.Place)
	}
	if t.Err != "" {
		fmt.Fprintf(&b, ", failed: %s", t.Err)
	}
	b.WriteByte('\n')
	var passed time.Duration
	for _, s := range t.Segments {
		from, to := t.column(passed), t.column(passed+s.Took)
		passed += s.Took
		bar := strings.Repeat(" ", from) + strings.Repeat("=", max(1, to-from))
		fmt.Fprintf(&b, "  %-10s %12v %3.0f%%  |%-*s|\n", s.Phase, s.Took, percent(s.Took, t.Total), barWidth+1, bar)
	}
	if t.Clock.Bound > 0 {
		fmt.Fprintf(&b, "  the peer's clock is ahead by %v ± %v\n", t.Clock.Offset, t.Clock.Bound)
	}
	return b.String()
}

// subject says which message it is.
func (t *Trace) subject() string {
	switch t.Role {
	case RoleCaller, RoleHandler:
		return fmt.Sprintf("call %d, %v - %v, %d B, response %d B", t.Number, t.Local, t.Remote, t.Bytes, t.ReplyBytes)
	default:
		return fmt.Sprintf("message %d, %v - %v, %d B", t.Number, t.Local, t.Remote, t.Bytes)
	}
}

func (t *Trace) column(at time.Duration) int { return int(percent(at, t.Total) * barWidth / 100) }

func percent(part, whole time.Duration) float64 {
	if whole == 0 {
		return 0
	}
	return 100 * float64(part) / float64(whole)
}
