package monitor

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/braid-rdma/braid/internal/otlp"
	"github.com/braid-rdma/braid/operate"
)

const (
	// maxSpans is how many spans wait for a collector that is away: the latest.
	maxSpans = 4096
	// exportTime is how long a collector may take for what it is sent.
	exportTime = 5 * time.Second
	// spanScope is what OpenTelemetry is told of who makes the spans.
	spanScope = "github.com/braid-rdma/braid/monitor"
)

// traced is a trace of a message, as programs tell it (package braid's Trace).
type traced struct {
	Role       string         `json:"role"`
	Mode       string         `json:"mode"`
	Local      netip.AddrPort `json:"local"`
	Remote     netip.AddrPort `json:"remote"`
	Number     uint32         `json:"number"`
	Bytes      int64          `json:"bytes"`
	ReplyBytes int64          `json:"reply_bytes"`
	Start      time.Time      `json:"start"`
	Total      time.Duration  `json:"total_ns"`
	Segments   []struct {
		Phase string        `json:"phase"`
		Took  time.Duration `json:"ns"`
	} `json:"segments"`
	Span   string `json:"span"`   // a traceparent
	Parent string `json:"parent"` // a traceparent
	Place  string `json:"place"`
	Err    string `json:"error"`
}

// spanRoles are the names and kinds of spans, those of package braidotel, by the part that a program has in a message.
var spanRoles = map[string]struct {
	name  string
	kind  otlp.Kind
	sends bool
}{
	"caller":   {"braid.call", otlp.Client, true},
	"handler":  {"braid.handle", otlp.Server, false},
	"sender":   {"braid.send", otlp.Producer, true},
	"receiver": {"braid.receive", otlp.Consumer, false},
}

// span is what OpenTelemetry is told of a trace; false: a program that has spans of its own tells it, or nobody knows what it is.
func (t *traced) span() (s otlp.Span, ok bool) {
	role, ok := spanRoles[t.Role]
	if !ok || t.Span != "" {
		return s, false
	}
	s = otlp.Span{
		Name: role.name, Kind: role.kind, Start: otlp.Time(t.Start), End: otlp.Time(t.Start.Add(t.Total)),
		Attributes: []otlp.Attribute{
			otlp.String("network.local.address", t.Local.Addr().String()), otlp.Int("network.local.port", int64(t.Local.Port())),
			otlp.String("network.peer.address", t.Remote.Addr().String()), otlp.Int("network.peer.port", int64(t.Remote.Port())),
			otlp.String("braid.trace.mode", t.Mode), otlp.Int("braid.message.number", int64(t.Number)),
			otlp.Int("braid.message.bytes", t.Bytes), otlp.Int("braid.reply.bytes", t.ReplyBytes),
		},
	}
	if t.Place != "" {
		s.Attributes = append(s.Attributes, otlp.String("code.function.name", t.Place))
	}
	if t.Err != "" {
		s.Status = otlp.Failed(t.Err)
	}
	passed := t.Start
	for _, g := range t.Segments {
		s.Events = append(s.Events, otlp.Event{At: otlp.Time(passed), Name: g.Phase, Attributes: []otlp.Attribute{otlp.Int("braid.phase.ns", int64(g.Took))}})
		passed = passed.Add(g.Took)
	}
	t.identify(&s, role.sends)
	return s, true
}

// identify gives a span its place. The two ends of a message are told by agents that know nothing of each other, so both make the same
// of what both know: who sent to whom, and the number of the message.
func (t *traced) identify(s *otlp.Span, sends bool) {
	from, to := t.Local, t.Remote
	if !sends {
		from, to = to, from
	}
	call := s.Kind == otlp.Client || s.Kind == otlp.Server
	key := fmt.Append(nil, from.Addr().Unmap(), from.Port(), to.Addr().Unmap(), to.Port(), t.Number, call)
	if t.Number == 0 { // in bare-data mode the receiver is not told
		key = fmt.Append(key, t.Start.UnixNano())
	}
	sum := sha256.Sum256(key)
	s.Trace = sum[:16]
	sender, receiver := sum[16:24], sum[24:]
	if sends {
		s.ID = sender
		return
	}
	s.ID, s.Parent = receiver, sender
	if trace, span, ok := parseTraceParent(t.Parent); ok { // the sender has spans of its own
		s.Trace, s.Parent = trace, span
	}
}

// parseTraceParent reads a place in a trace, as W3C Trace Context has it.
func parseTraceParent(text string) (trace, span otlp.ID, ok bool) {
	b, err := hex.DecodeString(strings.ReplaceAll(text, "-", ""))
	const all = 1 + 16 + 8 + 1
	if err != nil || len(b) != all {
		return nil, nil, false
	}
	return b[1:17], b[17:25], true
}

// spans takes the traces of programs to an OpenTelemetry collector. What a program traces, and how much of it, is its own parameter.
type spans struct {
	exporter *otlp.Exporter
	host     string
	log      *slog.Logger
	news     chan struct{}

	mu      sync.Mutex
	waiting []otlp.Batch
	count   int
	lost    int // since the last that was sent
}

// newSpans is nil without an endpoint.
func newSpans(endpoint, headers, host string, log *slog.Logger) (*spans, error) {
	if endpoint == "" {
		return nil, nil
	}
	e, err := otlp.New(endpoint, spanScope, headers)
	if err != nil {
		return nil, fmt.Errorf("OpenTelemetry collector: %w", err)
	}
	return &spans{exporter: e, host: host, log: log, news: make(chan struct{}, 1)}, nil
}

// collect asks a program for its traces that have ended after those that it was asked for before.
func (s *spans) collect(ctx context.Context, p *operate.Program, known *collected) {
	if s == nil {
		return
	}
	all, err := p.Traces(ctx)
	if err != nil {
		return // the next look finds them
	}
	b, after := otlp.Batch{Resource: s.resource(p)}, known.tracedUntil
	for _, text := range all.Last {
		var t traced
		if json.Unmarshal(text, &t) != nil {
			continue // one of another version
		}
		ended := t.Start.Add(t.Total)
		if !ended.After(after) {
			continue
		}
		if ended.After(known.tracedUntil) {
			known.tracedUntil = ended
		}
		if one, ok := t.span(); ok {
			b.Spans = append(b.Spans, one)
		}
	}
	s.add(b)
}

// resource is what OpenTelemetry is told of a program.
func (s *spans) resource(p *operate.Program) []otlp.Attribute {
	r := []otlp.Attribute{otlp.String("service.name", p.Program), otlp.String("host.name", s.host), otlp.Int("process.pid", int64(p.PID))}
	for label := range strings.SplitSeq(p.Labels, ",") {
		if name, text, ok := strings.Cut(label, "="); ok {
			r = append(r, otlp.String("braid.label."+name, text))
		}
	}
	return r
}

// add has spans wait for the collector; the oldest go when they are too many.
func (s *spans) add(b otlp.Batch) {
	if len(b.Spans) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting, s.count = append(s.waiting, b), s.count+len(b.Spans)
	for s.count > maxSpans && len(s.waiting) > 1 {
		n := len(s.waiting[0].Spans)
		s.waiting, s.count, s.lost = s.waiting[1:], s.count-n, s.lost+n
	}
	select {
	case s.news <- struct{}{}:
	default:
	}
}

// run sends what waits until the context ends; what could not be sent goes with what comes next.
func (s *spans) run(ctx context.Context) {
	away := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.news:
		}
		err := s.export(ctx)
		switch {
		case errors.Is(err, otlp.ErrRejected):
			s.log.Warn("the OpenTelemetry collector does not take what it is sent", "error", err)
		case err != nil && !away && ctx.Err() == nil:
			s.log.Warn("the OpenTelemetry collector is away: the latest spans are kept", "error", err, "spans", maxSpans)
		case err == nil && away:
			s.log.Info("the OpenTelemetry collector is back")
		}
		away = err != nil && !errors.Is(err, otlp.ErrRejected)
	}
}

// export sends all that waits.
func (s *spans) export(ctx context.Context) error {
	s.mu.Lock()
	all, lost := s.waiting, s.lost
	s.waiting, s.count, s.lost = nil, 0, 0
	s.mu.Unlock()
	if lost > 0 {
		s.log.Warn("spans were lost while the OpenTelemetry collector was away", "spans", lost)
	}
	within, cancel := context.WithTimeout(ctx, exportTime)
	defer cancel()
	err := s.exporter.Export(within, all)
	if err == nil || errors.Is(err, otlp.ErrRejected) {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = append(all, s.waiting...)
	for _, b := range all {
		s.count += len(b.Spans)
	}
	return err
}
