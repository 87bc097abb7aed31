package monitor

import (
	"cmp"
	"time"
)

// Sum is what became of the probes of many flows.
type Sum struct {
	Sent      int           `json:"sent"`
	Lost      int           `json:"lost"`
	Network   time.Duration `json:"network_ns"`   // 99th percentile of the worst flow, as are the others
	Responder time.Duration `json:"responder_ns"` // in the programs of those who replied
	Prober    time.Duration `json:"prober_ns"`    // in the programs of those who asked
}

func (s *Sum) add(p *Pair) {
	s.merge(&Sum{p.Sent, p.Lost, p.Network, p.Responder, p.Prober})
}

func (s *Sum) merge(o *Sum) {
	s.Sent, s.Lost = s.Sent+o.Sent, s.Lost+o.Lost
	s.Network, s.Responder, s.Prober = max(s.Network, o.Network), max(s.Responder, o.Responder), max(s.Prober, o.Prober)
}

// summary is one window of all hosts, by host and by pair of racks. It has no cell for each pair of hosts, which are too many.
type summary struct {
	at      time.Time
	racks   []string // that hosts have, in the order of the hosts
	hosts   map[string]*hostSum
	between map[rackPair]*Sum
}

// rackPair is that of who probes and of who replies, as indices of racks.
type rackPair struct{ from, to int }

// hostSum is what a host sees, and how it is seen.
type hostSum struct {
	rack     int
	from, to Sum
}

// rackName is the rack of a host; one without has its own.
func (h *Host) rackName() string { return cmp.Or(h.Rack, h.Name) }

// summarize adds up windows. Targets that are not among the hosts are left out: an agent may report any name.
func summarize(at time.Time, hosts []Host, windows []Window) *summary {
	s := &summary{at: at, hosts: make(map[string]*hostSum, len(hosts)), between: map[rackPair]*Sum{}}
	index := map[string]int{}
	for i := range hosts {
		name := hosts[i].rackName()
		rack, ok := index[name]
		if !ok {
			rack = len(s.racks)
			index[name] = rack
			s.racks = append(s.racks, name)
		}
		s.hosts[hosts[i].Name] = &hostSum{rack: rack}
	}
	for i := range windows {
		s.add(&windows[i])
	}
	return s
}

func (s *summary) add(w *Window) {
	from := s.hosts[w.Host]
	if from == nil {
		return
	}
	for i := range w.Pairs {
		p := &w.Pairs[i]
		to := s.hosts[p.To]
		if to == nil || p.Sent == 0 {
			continue
		}
		from.from.add(p)
		to.to.add(p)
		pair := rackPair{from.rack, to.rack}
		sum := s.between[pair]
		if sum == nil {
			sum = &Sum{}
			s.between[pair] = sum
		}
		sum.add(p)
	}
}
