package monitor

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/braid-rdma/braid/operate"
)

const (
	// collectEvery is how often an agent looks at the programs of its machine, unless windows are shorter.
	collectEvery = 10 * time.Second
	// collectedPairs is of how many queue pairs of a program it keeps the last hour: the busiest.
	collectedPairs = 64
	// collectedPaths is of how many paths of each: those that carried most.
	collectedPaths = 16
	// maxPrograms is how many programs are told of in a window.
	maxPrograms = 256
)

// History is the last hour of a queue pair. What is counted is the growth since the point before.
type History struct {
	Every  time.Duration `json:"every_ns"`
	Points []Point       `json:"points"`
}

// Point is what a queue pair did in some time.
type Point struct {
	At          time.Time     `json:"at"` // its end
	Took        time.Duration `json:"took_ns"`
	Sent        uint64        `json:"tx_bytes"`
	Received    uint64        `json:"rx_bytes"`
	Retransmits uint64        `json:"retransmits"`
	Lost        uint64        `json:"lost"`
	Marked      uint64        `json:"marked"`
	RTT         time.Duration `json:"rtt_ns"`
	Window      float64       `json:"window"`
	InFlight    int           `json:"in_flight"`
	Blocked     string        `json:"blocked"` // at its end
	Paths       []PathPoint   `json:"paths,omitempty"`
}

// PathPoint is what a path of it did.
type PathPoint struct {
	Index   int           `json:"index"`
	Bytes   uint64        `json:"bytes"`
	Lost    uint64        `json:"lost"`
	Marked  uint64        `json:"marked"`
	RTT     time.Duration `json:"rtt_ns"`
	Retired bool          `json:"retired,omitempty"`
}

// ProgramWindow is what a program did in a window.
type ProgramWindow struct {
	ProgramID
	Program    string            `json:"program"`
	Labels     string            `json:"labels,omitempty"`
	Pairs      map[string]int    `json:"pairs"` // queue pairs, by state
	Registered uint64            `json:"registered_bytes"`
	Counters   map[string]uint64 `json:"counters"` // growth of the sums over its queue pairs, and of its engine's
}

// collector is what an agent knows of the programs of its machine. Its zero value knows none.
type collector struct {
	mu       sync.Mutex
	every    time.Duration
	programs map[ProgramID]*collected
	slow     []SlowEvent // since the last window
	spans    *spans      // nil: nobody wants any
}

// collected is a program.
type collected struct {
	now, window *operate.Device // the last look, and that of the last window
	points      map[uint32][]Point
	slowAfter   time.Time // of the last slow event
	tracedUntil time.Time // the end of the last trace that was told
}

// run looks at the programs until the context ends; every says how often, which the monitor may change.
func (c *collector) run(ctx context.Context, every func() time.Duration) {
	var last time.Time
	for {
		wait := min(collectEvery, every())
		if now := time.Now(); now.Sub(last) >= wait {
			c.look(ctx, wait)
			last = now
		}
		if sleep(ctx, min(wait, time.Second)) != nil {
			return
		}
	}
}

// look asks each program what it does. One that does not respond, or has ended, is forgotten. Only this changes which programs there are.
func (c *collector) look(ctx context.Context, every time.Duration) {
	present := map[ProgramID]*collected{}
	for p, err := range operate.Programs(ctx) {
		if err != nil {
			continue
		}
		id := ProgramID{p.PID, p.Number}
		known := c.programs[id]
		if known == nil {
			known = &collected{points: map[uint32][]Point{}, slowAfter: time.Now().Add(-every), tracedUntil: time.Now().Add(-every)}
		}
		within, cancel := context.WithTimeout(ctx, every)
		d, err := p.Busiest(within, collectedPairs)
		var slow []SlowEvent
		if err == nil {
			slow = known.collectSlow(within, p)
			c.spans.collect(within, p, known)
			present[id] = known
		}
		cancel()
		p.Close()
		c.mu.Lock()
		if err == nil {
			known.add(d, int(kept/every))
		}
		c.slow = append(c.slow, slow...)
		c.slow = slices.Delete(c.slow, 0, max(0, len(c.slow)-maxSlow))
		c.mu.Unlock()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.every, c.programs = every, present
}

// add takes a look at a program, and forgets queue pairs that are not among the busiest any more.
func (p *collected) add(d *operate.Device, most int) {
	points := map[uint32][]Point{}
	for i := range d.QueuePairs {
		q := &d.QueuePairs[i]
		old := p.points[q.Number]
		if then := pairOf(p.now, q.Number); then != nil {
			old = append(old, pointBetween(then, q, p.now.At, d.At))
		}
		points[q.Number] = old[max(0, len(old)-most):]
	}
	p.now, p.points = d, points
	if p.window == nil {
		p.window = d
	}
}

func pairOf(d *operate.Device, number uint32) *operate.QueuePairState {
	if d == nil {
		return nil
	}
	i := slices.IndexFunc(d.QueuePairs, func(q operate.QueuePairState) bool { return q.Number == number })
	if i < 0 {
		return nil
	}
	return &d.QueuePairs[i]
}

// pointBetween is what a queue pair did between two looks.
func pointBetween(then, now *operate.QueuePairState, began, ended time.Time) Point {
	grown := func(counter string) uint64 { return since(now.Counters[counter], then.Counters[counter]) }
	p := Point{
		At: ended, Took: ended.Sub(began), Sent: grown("tx_bytes"), Received: grown("rx_bytes"), Retransmits: grown("retransmits"),
		Lost: since(grown("mp_lost"), grown("mp_spurious_retransmits")),
		RTT:  now.RTT, Window: now.Window, InFlight: now.InFlight, Blocked: now.Blocked,
	}
	for i := range now.Paths {
		var before operate.Path
		if i < len(then.Paths) {
			before = then.Paths[i]
		}
		path := &now.Paths[i]
		one := PathPoint{
			Index: path.Index, Bytes: since(path.Bytes, before.Bytes), Lost: since(path.Lost, before.Lost), Marked: since(path.Marked, before.Marked),
			RTT: path.RTT, Retired: path.Retired,
		}
		p.Marked += one.Marked
		if one.Bytes > 0 || one.Lost > 0 {
			p.Paths = append(p.Paths, one)
		}
	}
	if len(p.Paths) > collectedPaths {
		slices.SortFunc(p.Paths, func(a, b PathPoint) int { return cmp.Compare(b.Bytes, a.Bytes) })
		p.Paths = p.Paths[:collectedPaths]
		slices.SortFunc(p.Paths, func(a, b PathPoint) int { return a.Index - b.Index })
	}
	return p
}

// since is how much a counter has grown. Sums shrink when queue pairs end.
func since(now, then uint64) uint64 {
	if now < then {
		return 0
	}
	return now - then
}

// history is the last hour of a queue pair.
func (c *collector) history(id ProgramID, qpn uint32) (*History, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.programs[id]
	if p == nil {
		return nil, errNoProgram
	}
	return &History{c.every, slices.Clone(p.points[qpn])}, nil
}

// take is what the programs did since it was last called, those that moved most first, and what was slow.
func (c *collector) take() ([]ProgramWindow, []SlowEvent) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]ProgramWindow, 0, len(c.programs))
	for id, p := range c.programs {
		w := ProgramWindow{
			ProgramID: id, Program: p.now.Program.Program, Labels: p.now.Program.Labels, Pairs: p.now.Pairs, Registered: p.now.Registered,
			Counters: map[string]uint64{},
		}
		for _, two := range [][2]map[string]uint64{{p.now.Sum, p.window.Sum}, {p.now.Counters, p.window.Counters}} {
			for name, n := range two[0] {
				if grown := since(n, two[1][name]); grown > 0 {
					w.Counters[name] = grown
				}
			}
		}
		p.window = p.now
		all = append(all, w)
	}
	slices.SortFunc(all, func(a, b ProgramWindow) int {
		return cmp.Or(cmp.Compare(b.moved(), a.moved()), a.PID-b.PID, a.Number-b.Number)
	})
	slow := c.slow
	c.slow = nil
	return all[:min(len(all), maxPrograms)], slow
}

func (w *ProgramWindow) moved() uint64 { return w.Counters["tx_bytes"] + w.Counters["rx_bytes"] }
