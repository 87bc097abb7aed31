package traffic

import (
	"sync"
	"time"
)

// arrivals is what a receiver reports from time to time.
type arrivals struct {
	Bins   []bin   `json:"bins,omitempty"`
	Stalls []Stall `json:"stalls,omitempty"`
	Last   int64   `json:"last"` // when something arrived last
}

type bin struct {
	Number int64  `json:"n"`
	Bytes  uint64 `json:"b"`
}

// meter gathers arrivals between two reports.
type meter struct {
	mu      sync.Mutex
	pending arrivals
	last    time.Duration // 0: nothing has arrived yet
}

// arrived counts bytes that arrived now.
func (m *meter) arrived(now time.Duration, bytes int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.last != 0 && now-m.last >= shortestStall {
		m.pending.Stalls = append(m.pending.Stalls, Stall{From: m.last, To: now})
	}
	m.last, m.pending.Last = now, int64(now)
	number := binOf(now)
	if n := len(m.pending.Bins); n == 0 || m.pending.Bins[n-1].Number != number {
		m.pending.Bins = append(m.pending.Bins, bin{Number: number})
	}
	m.pending.Bins[len(m.pending.Bins)-1].Bytes += uint64(bytes)
}

// take returns what has been gathered, and begins anew.
func (m *meter) take() (arrivals, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	taken := m.pending
	m.pending = arrivals{Last: taken.Last}
	return taken, len(taken.Bins) > 0
}

// merge adds a report to a record.
func (r *Record) merge(a *arrivals) {
	for _, b := range a.Bins {
		r.add(b.Number, b.Bytes)
	}
	r.stalls = append(r.stalls, a.Stalls...)
	r.lastNews = time.Duration(a.Last)
}
