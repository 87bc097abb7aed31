package fluid

import "slices"

// An Equilibrium is the point where eq. (6) and (7) stand still. What it does
// not say is how a connection's window divides over the paths: many divisions
// fill the same links, and the start decides between them.
type Equilibrium struct {
	Windows []float64         // cwnd of a connection, by group
	Links   []LinkEquilibrium // by link
}

// A LinkEquilibrium is the standing state of one link. On a link that no
// virtual path is mapped to, all but the RTT is zero.
type LinkEquilibrium struct {
	Queue        float64 // packets
	MarkingRatio float64 // F_j
	RTTSeconds   float64 // R*_j = d_j + queue/C_j
}

// FixedPoint computes the equilibrium of a network in closed form; it uses only
// Links, Groups and PacketBytes of the configuration.
//
// Eq. (6) gives every connection cwnd = 2(1-F)/F for the marking ratio F of the
// links it stays on, and (7) fills link j with C_j d_j + q_j(F) packets. If all
// connections met on all links, one F would balance the two sums. In general a
// mapping falls into islands with a ratio each: where the windows of some
// connections cannot be held by the only links they reach, these links are
// marked more, and all others leave them. The islands are found by cutting the
// network at the bottleneck of a maximum flow, until nothing is left to cut.
// The result is unique, since windows fall and queues rise with F.
func FixedPoint(cfg Config) (Equilibrium, error) {
	cfg = cfg.withDefaults()
	if err := cfg.checkNetwork(); err != nil {
		return Equilibrium{}, err
	}
	return fixedPoint(newModel(&cfg)), nil
}

// An island is groups and links that settle at a marking ratio of their own.
type island struct {
	groups, links []int
}

func fixedPoint(m *model) Equilibrium {
	e := Equilibrium{
		Windows: make([]float64, len(m.count)),
		Links:   make([]LinkEquilibrium, len(m.links)),
	}
	for j := range m.links {
		e.Links[j].RTTSeconds = m.links[j].baseRTT
	}
	whole := island{}
	for g := range m.count {
		whole.groups = append(whole.groups, g)
	}
	for j := range m.links {
		if m.reached(j) {
			whole.links = append(whole.links, j)
		}
	}
	reaches := m.reachability()
	for uncut := []island{whole}; len(uncut) > 0; {
		next := uncut[len(uncut)-1]
		uncut = uncut[:len(uncut)-1]
		ratio := m.balance(next)
		crowded, rest := m.split(next, ratio, reaches)
		if len(rest.groups) > 0 {
			uncut = append(uncut, crowded, rest)
			continue
		}
		e.settle(m, next, ratio)
	}
	return e
}

// settle writes down the state of an island that needs no further cut.
func (e *Equilibrium) settle(m *model, is island, ratio float64) {
	for _, g := range is.groups {
		e.Windows[g] = windowAt(ratio)
	}
	for _, j := range is.links {
		link := &m.links[j]
		queue := link.marking.queueFor(ratio)
		e.Links[j] = LinkEquilibrium{Queue: queue, MarkingRatio: ratio, RTTSeconds: link.rtt(queue)}
	}
}

// windowAt is the fixed point of eq. (1) and of (6) summed over all paths.
func windowAt(ratio float64) float64 { return 2 * (1 - ratio) / ratio }

// MarkingAt is the ratio at which a window stands still: F = 2/(cwnd+2), §3.2.1.
func MarkingAt(window float64) float64 { return 2 / (window + 2) }

// balance finds the ratio at which the windows of an island are just what its
// links hold.
func (m *model) balance(is island) float64 {
	return bisect(func(ratio float64) float64 {
		excess := 0.0
		for _, g := range is.groups {
			excess += m.count[g] * windowAt(ratio)
		}
		for _, j := range is.links {
			excess -= m.links[j].holds(ratio)
		}
		return excess
	})
}

// bisect finds where a falling function of a ratio crosses zero, to the last bit.
func bisect(falling func(float64) float64) float64 {
	low, high := 0.0, 1.0
	for {
		middle := low + (high-low)/2
		if middle == low || middle == high {
			return high
		}
		if falling(middle) > 0 {
			low = middle
		} else {
			high = middle
		}
	}
}

// split cuts an island at the bottleneck between its connections and its links:
// the crowded part wants a higher ratio, the rest a lower one. An island that
// can stay whole has no rest.
func (m *model) split(is island, ratio float64, reaches [][]bool) (crowded, rest island) {
	flow := newSharing(m, is, ratio, reaches)
	for flow.augment() {
	}
	full := flow.linksSeen()
	for _, g := range is.groups {
		stuck := !slices.ContainsFunc(is.links, func(j int) bool { return reaches[g][j] && !full[j] })
		if stuck {
			crowded.groups = append(crowded.groups, g)
		} else {
			rest.groups = append(rest.groups, g)
		}
	}
	for _, j := range is.links {
		if full[j] {
			crowded.links = append(crowded.links, j)
		} else {
			rest.links = append(rest.links, j)
		}
	}
	if len(crowded.groups) == 0 || len(rest.groups) == 0 {
		return is, island{}
	}
	return crowded, rest
}

// PrintedQueue is the queue that eq. (4) and (5) give as printed, for N
// connections on one link. Eq. (4) counts the queue twice, as the package
// comment explains; the queue of (1) to (3) is that of [FixedPoint].
func PrintedQueue(connections int, link Link, packetBytes int) (float64, error) {
	cfg := Config{
		Links:       []Link{link},
		Groups:      []Group{{Count: connections, Paths: []int{0}}},
		PacketBytes: packetBytes,
	}.withDefaults()
	if err := cfg.checkNetwork(); err != nil {
		return 0, err
	}
	m := newModel(&cfg)
	bdp := m.links[0].capacity * m.links[0].baseRTT
	ratio := bisect(func(ratio float64) float64 {
		return m.count[0]*(1-ratio)/ratio - bdp/2 - link.Marking.queueFor(ratio)
	})
	return link.Marking.queueFor(ratio), nil
}
