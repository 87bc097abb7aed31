package braid

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// LogLevel is how much a context tells the default logger of package slog, so that an operator can see it in the log of a
// program that knows nothing of it (`braid adm set log=warn`). What is told is told to hooks as well (OnMove, TraceHooks), and
// never holds the context up.
type LogLevel uint8

const (
	// LogOff is silence; the default.
	LogOff LogLevel = iota
	// LogWarn is what should not be: channels that fail, moves to TCP, and phases and polls that took too long.
	LogWarn
	// LogInfo is also what is well: channels that begin and end, moves back to UDP, changes by an operator.
	LogInfo
)

var logNames = [...]string{LogOff: "off", LogWarn: "warn", LogInfo: "info"}

func (l LogLevel) String() string {
	if int(l) < len(logNames) {
		return logNames[l]
	}
	return fmt.Sprintf("log %d", uint8(l))
}

// MarshalText implements encoding.TextMarshaler.
func (l LogLevel) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (l *LogLevel) UnmarshalText(text []byte) error {
	i := slices.Index(logNames[:], string(text))
	if i < 0 {
		return fmt.Errorf("want %q", logNames)
	}
	*l = LogLevel(i)
	return nil
}

// Limits of a journal: a peer that comes and goes, or a threshold of slowness that is too low, must not fill a disk, and a log
// that does not take its records must not fill the memory.
const (
	logsPerSecond = 100
	logsWaiting   = 2 * logsPerSecond
)

// journal hands records to the logger, from a goroutine of its own: a log may be a pipe that nobody reads. There is one
// while there is something to hand over.
type journal struct {
	level atomic.Uint32

	mu      sync.Mutex
	waiting []slog.Record
	running bool
	second  time.Time // when the present one began
	within  int       // records since
	dropped int       // since the last record
}

func (j *journal) configure(cfg *Config) { j.level.Store(uint32(cfg.Log)) }

func (j *journal) wants(l LogLevel) bool { return j.level.Load() >= uint32(l) }

// add notes something that has happened.
func (j *journal) add(l LogLevel, what string, attrs ...slog.Attr) {
	if !j.wants(l) {
		return
	}
	level := slog.LevelInfo
	if l == LogWarn {
		level = slog.LevelWarn
	}
	now := time.Now()
	j.mu.Lock()
	defer j.mu.Unlock()
	if now.Sub(j.second) >= time.Second {
		j.second, j.within = now, 0
	}
	if j.within++; j.within > logsPerSecond || len(j.waiting) == logsWaiting {
		j.dropped++
		return
	}
	r := slog.NewRecord(now, level, "braid: "+what, 0)
	r.AddAttrs(attrs...)
	if j.dropped > 0 {
		r.AddAttrs(slog.Int("left_out", j.dropped)) // before it
		j.dropped = 0
	}
	j.waiting = append(j.waiting, r)
	if !j.running {
		j.running = true
		go j.drain()
	}
}

// drain hands over what waits.
func (j *journal) drain() {
	for {
		j.mu.Lock()
		records := j.waiting
		j.waiting = nil
		j.running = len(records) > 0
		j.mu.Unlock()
		if len(records) == 0 {
			return
		}
		ctx, handler := context.Background(), slog.Default().Handler()
		for i := range records {
			if handler.Enabled(ctx, records[i].Level) {
				_ = handler.Handle(ctx, records[i]) // there is nobody else to tell
			}
		}
	}
}

// slow notes that something took too long.
func (j *journal) slow(s *Slow) {
	if !j.wants(LogWarn) {
		return
	}
	attrs := []slog.Attr{slog.String("phase", s.Phase.String()), slog.Duration("took", s.Took), slog.Duration("threshold", s.Threshold), slog.String("place", s.Place)}
	if s.Remote.IsValid() {
		attrs = append(attrs, slog.String("peer", s.Remote.String()))
	}
	j.add(LogWarn, "slow", attrs...)
}

// attrs say which channel it is.
func (ch *Channel) attrs(more ...slog.Attr) []slog.Attr {
	return append([]slog.Attr{
		slog.Int("channel", int(ch.number)), slog.String("local", ch.conn.LocalAddr().String()), slog.String("peer", ch.conn.RemoteAddr().String()),
	}, more...)
}

func (ch *Channel) logOpen() {
	if j := &ch.context.journal; j.wants(LogInfo) {
		j.add(LogInfo, "channel", ch.attrs()...)
	}
}

// logEnd notes the end of a channel. One that did not come to be is the matter of who dialled.
func (ch *Channel) logEnd(err error) {
	j, level, what := &ch.context.journal, LogWarn, "channel failed"
	if errors.Is(err, ErrClosed) || errors.Is(err, ErrPeerClosed) {
		level, what = LogInfo, "channel closed"
	}
	if ch.conn != nil && j.wants(level) {
		j.add(level, what, ch.attrs(slog.String("reason", err.Error()))...)
	}
}

func (ch *Channel) logMove(m *Move) {
	j, level := &ch.context.journal, LogInfo
	if m.To == CarrierTCP {
		level = LogWarn
	}
	if !j.wants(level) {
		return
	}
	more := []slog.Attr{slog.String("reason", m.Reason.String())}
	if m.Err != nil {
		more = append(more, slog.String("error", m.Err.Error()))
	}
	j.add(level, "channel moved to "+m.To.String(), ch.attrs(more...)...)
}

// logChange notes that an operator has changed parameters, and perhaps the filter.
func (c *Context) logChange(values map[string]string, filter string) {
	if !c.journal.wants(LogInfo) {
		return
	}
	var attrs []slog.Attr
	for _, name := range slices.Sorted(maps.Keys(values)) {
		attrs = append(attrs, slog.String(name, values[name]))
	}
	if filter != "" {
		attrs = append(attrs, slog.String(filterParameter, filter))
	}
	c.journal.add(LogInfo, "an operator changed parameters", attrs...)
}
