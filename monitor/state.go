package monitor

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
)

// State is what a monitor knows at one moment.
type State struct {
	Schema int           `json:"schema"`
	At     time.Time     `json:"at"`
	Window time.Duration `json:"window_ns"`
	Hosts  []HostState   `json:"hosts"`
	Mesh   []Cell        `json:"mesh"`
	Split  bool          `json:"split,omitempty"` // the mesh has too many cells, and is told in parts: Racks, Between, HostView
	Total  Sum           `json:"total"`           // of the last window
	Alarms []Alarm       `json:"alarms"`
	Events []Event       `json:"events"` // the latest hundred
	Slow   []SlowEvent   `json:"slow"`   // the latest hundred
	Store  StoreState    `json:"store"`
	// Switches are the ports that dropped most in the last window, of those that agents can tell of.
	Switches []SwitchPort `json:"switches,omitempty"`
}

// HostState is a host as the monitor knows it.
type HostState struct {
	Host
	Last  time.Time     `json:"last"`               // when it last said something
	Clock time.Duration `json:"clock_ns,omitempty"` // by how much its clock is ahead
	Stale bool          `json:"stale,omitempty"`    // it does not report
	// What it sent in the last window and what of it was lost, and what others sent to it.
	Sent       int `json:"sent,omitempty"`
	Lost       int `json:"lost,omitempty"`
	Probed     int `json:"probed,omitempty"`
	ProbedLost int `json:"probed_lost,omitempty"`
}

// Cell is what one host saw of another in its latest window.
type Cell struct {
	From    string        `json:"from"`
	To      string        `json:"to"`
	Sent    int           `json:"sent"`
	Lost    int           `json:"lost"`
	Network time.Duration `json:"network_ns"` // the 99th percentile of the worst path
}

// subjectState is asked for the state.
const subjectState = "braid.state"

// State is what the monitor knows now.
func (m *Monitor) State() *State {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	s := &State{
		Schema: version, At: now, Window: m.cfg.Window, Hosts: []HostState{}, Mesh: []Cell{}, Alarms: m.judge.Active(),
		Events: slices.Clone(m.events[max(0, len(m.events)-100):]), Slow: append([]SlowEvent{}, m.slow[max(0, len(m.slow)-100):]...),
		Store: m.store.now(), Switches: m.ports(100),
	}
	for _, name := range m.names {
		state := m.hostState(m.hosts[name], now)
		s.Hosts = append(s.Hosts, state)
		if !state.Stale && !s.Split {
			s.Mesh = append(s.Mesh, cells(m.windows[name])...)
			s.Split = len(s.Mesh) > maxCells
		}
	}
	if s.Split {
		s.Mesh = []Cell{}
	}
	for _, sum := range m.sum.between {
		s.Total.merge(sum)
	}
	return s
}

// stale says whether a host has not reported for two windows; the lock is held.
func (m *Monitor) stale(k *known, now time.Time) bool {
	w, ok := m.windows[k.Name]
	return !ok || now.Sub(w.At.Add(-k.clock)) > 2*m.cfg.Window+grace
}

// cells sums up the paths of a window.
func cells(w Window) (all []Cell) {
	for _, p := range w.Pairs { // which are in the order of their hosts
		if n := len(all); n == 0 || all[n-1].To != p.To {
			all = append(all, Cell{From: w.Host, To: p.To})
		}
		c := &all[len(all)-1]
		c.Sent, c.Lost, c.Network = c.Sent+p.Sent, c.Lost+p.Lost, max(c.Network, p.Network)
	}
	slices.SortFunc(all, func(a, b Cell) int { return cmp.Compare(a.To, b.To) })
	return all
}

// tellState replies to who asks for the state.
func (m *Monitor) tellState(msg *nats.Msg) {
	text, err := json.Marshal(m.State())
	if err == nil {
		err = msg.Respond(text)
	}
	if err != nil {
		m.cfg.Log.Warn("the state cannot be told", "error", err)
	}
}
