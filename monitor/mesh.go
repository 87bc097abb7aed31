package monitor

import (
	"cmp"
	"slices"
	"time"
)

const (
	// maxCells is up to how many the state has all cells of the mesh: those of a hundred hosts.
	maxCells = 10_000
	// maxRackCells bounds what is told of pairs of racks: all of three hundred racks; of more, the worst.
	maxRackCells = 90_000
)

// RackMesh is the last window rack by rack, without the names in each cell: they are tens of thousands.
type RackMesh struct {
	At    time.Time  `json:"at"`
	Racks []string   `json:"racks"`
	Hosts []int      `json:"hosts"`              // how many each rack has
	Cells [][5]int64 `json:"cells"`              // from and to, as indices of racks; probes sent and lost; 99th percentile in the network, ns
	Left  int        `json:"left_out,omitempty"` // cells that are not told
}

// Racks is the mesh rack by rack.
func (m *Monitor) Racks() *RackMesh {
	m.mu.Lock()
	sum := m.sum // which does not change any more
	m.mu.Unlock()
	mesh := &RackMesh{At: sum.at, Racks: slices.Clone(sum.racks), Hosts: make([]int, len(sum.racks)), Cells: make([][5]int64, 0, len(sum.between))}
	for _, h := range sum.hosts {
		mesh.Hosts[h.rack]++
	}
	for pair, s := range sum.between {
		mesh.Cells = append(mesh.Cells, [5]int64{int64(pair.from), int64(pair.to), int64(s.Sent), int64(s.Lost), int64(s.Network)})
	}
	if len(mesh.Cells) > maxRackCells {
		slices.SortFunc(mesh.Cells, func(a, b [5]int64) int { return cmp.Or(cmp.Compare(b[3], a[3]), cmp.Compare(b[4], a[4])) })
		mesh.Left = len(mesh.Cells) - maxRackCells
		mesh.Cells = mesh.Cells[:maxRackCells]
	}
	slices.SortFunc(mesh.Cells, func(a, b [5]int64) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	return mesh
}

// PairMesh is what the hosts of one rack see of those of another.
type PairMesh struct {
	From  []HostState `json:"from"`
	To    []HostState `json:"to"`
	Cells []Cell      `json:"cells"`
}

// Between is the mesh of two racks, host by host.
func (m *Monitor) Between(from, to string) *PairMesh {
	pair := &PairMesh{From: []HostState{}, To: []HostState{}, Cells: []Cell{}}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	wanted := map[string]bool{}
	for _, name := range m.names {
		k := m.hosts[name]
		rack := k.rackName()
		if rack == to {
			wanted[name] = true
			pair.To = append(pair.To, m.hostState(k, now))
		}
		if rack == from {
			pair.From = append(pair.From, m.hostState(k, now))
		}
	}
	for i := range pair.From {
		if pair.From[i].Stale {
			continue
		}
		for _, c := range cells(m.windows[pair.From[i].Name]) {
			if wanted[c.To] {
				pair.Cells = append(pair.Cells, c)
			}
		}
	}
	return pair
}

// HostView is one host: what it sees, and how it is seen.
type HostView struct {
	Host HostState `json:"host"`
	From []Cell    `json:"from"`
	To   []Cell    `json:"to"`
}

// HostView is what is known of a host; nil: it has not joined.
func (m *Monitor) HostView(name string) *HostView {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.hosts[name]
	if k == nil {
		return nil
	}
	now := time.Now()
	view := &HostView{Host: m.hostState(k, now), From: []Cell{}, To: []Cell{}}
	if !view.Host.Stale {
		view.From = append(view.From, cells(m.windows[name])...)
	}
	for _, other := range m.names {
		w := m.windows[other]
		if !slices.ContainsFunc(w.Pairs, func(p Pair) bool { return p.To == name }) || m.stale(m.hosts[other], now) {
			continue
		}
		all := cells(w)
		i := slices.IndexFunc(all, func(c Cell) bool { return c.To == name })
		view.To = append(view.To, all[i])
	}
	return view
}

// hostState is a host as it is told; the lock is held.
func (m *Monitor) hostState(k *known, now time.Time) HostState {
	s := HostState{Host: k.Host, Last: k.last, Clock: k.clock, Stale: m.stale(k, now)}
	if sum := m.sum.hosts[k.Name]; sum != nil {
		s.Sent, s.Lost, s.Probed, s.ProbedLost = sum.from.Sent, sum.from.Lost, sum.to.Sent, sum.to.Lost
	}
	return s
}
