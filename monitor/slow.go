package monitor

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/braid-rdma/braid/operate"
)

const (
	// maxSlow is how many slow events an agent tells of in a window: the latest.
	maxSlow = 100
	// keptSlow is how many the monitor remembers.
	keptSlow = 1000
)

// SlowEvent is a phase of a message, or a time without a poll, that took too long in a program (X-RDMA §VI-A, methods II and III).
type SlowEvent struct {
	Host string `json:"host,omitempty"`
	ProgramID
	At        time.Time     `json:"at"`
	Phase     string        `json:"phase"`
	Took      time.Duration `json:"ns"`
	Threshold time.Duration `json:"threshold_ns"`
	Place     string        `json:"place"`
	Remote    string        `json:"remote,omitempty"`
}

// collectSlow asks a program for its slow events after the last one that is known.
func (p *collected) collectSlow(ctx context.Context, program *operate.Program) (all []SlowEvent) {
	texts, err := program.SlowAfter(ctx, p.slowAfter)
	if err != nil {
		return nil // the next look finds them
	}
	for _, text := range texts[max(0, len(texts)-maxSlow):] {
		e := SlowEvent{ProgramID: ProgramID{program.PID, program.Number}}
		if json.Unmarshal(text, &e) != nil {
			continue // one of another version
		}
		e.Place = shorten(e.Place)
		if e.At.After(p.slowAfter) {
			p.slowAfter = e.At
		}
		all = append(all, e)
	}
	return all
}

// rememberSlow keeps the slow events of a host's window; the lock is held.
func (m *Monitor) rememberSlow(host string, some []SlowEvent) {
	for _, e := range some {
		e.Host, e.Phase, e.Place, e.Remote = host, shorten(e.Phase), shorten(e.Place), shorten(e.Remote)
		m.slow = append(m.slow, e)
	}
	m.slow = slices.Delete(m.slow, 0, max(0, len(m.slow)-keptSlow))
}
