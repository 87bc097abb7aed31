package fluid

// A model is a Config in the units of the equations: packets and seconds. Its
// state is one vector: the windows of all virtual paths, group after group,
// then the queues of all links.
type model struct {
	links      []modelLink
	count      []float64 // connections, by group
	paths      []modelPath
	firstPath  []int // of each group, and the number of paths at the end
	packetBits float64
	immediate  bool

	// Room for one evaluation of the equations.
	cwnd []float64
	load []float64
}

type modelLink struct {
	capacity float64 // C_j in packets per second
	baseRTT  float64 // d_j in seconds
	marking  Marking
}

type modelPath struct {
	group, link int
}

func newModel(c *Config) *model {
	m := &model{
		packetBits: float64(c.PacketBytes) * 8,
		immediate:  c.Feedback == Immediate,
		firstPath:  []int{0},
		cwnd:       make([]float64, len(c.Groups)),
		load:       make([]float64, len(c.Links)),
	}
	for _, link := range c.Links {
		m.links = append(m.links, modelLink{
			capacity: link.RateBitsPerSecond / m.packetBits,
			baseRTT:  link.BaseRTT.Seconds(),
			marking:  link.Marking,
		})
	}
	for g, group := range c.Groups {
		m.count = append(m.count, float64(group.Count))
		for _, link := range group.Paths {
			m.paths = append(m.paths, modelPath{group: g, link: link})
		}
		m.firstPath = append(m.firstPath, len(m.paths))
	}
	return m
}

// initialState is the state vector at time zero.
func (m *model) initialState(c *Config) []float64 {
	state := make([]float64, 0, len(m.paths)+len(m.links))
	for _, group := range c.Groups {
		for i := range group.Paths {
			window := 1.0
			if group.InitialWindows != nil {
				window = group.InitialWindows[i]
			}
			state = append(state, window)
		}
	}
	for _, link := range c.Links {
		state = append(state, link.InitialQueue)
	}
	return state
}

func (m *model) windows(state []float64) []float64 { return state[:len(m.paths)] }

func (m *model) queues(state []float64) []float64 { return state[len(m.paths):] }

// rtt is eq. (8). A stage of the integration may look below an empty queue;
// there the RTT is that of the empty one.
func (l *modelLink) rtt(queue float64) float64 { return l.baseRTT + max(0, queue)/l.capacity }

// holds is what a full link contains at a marking ratio, in flight and queued.
func (l *modelLink) holds(ratio float64) float64 {
	return l.capacity*l.baseRTT + l.marking.queueFor(ratio)
}

// sum adds up the windows: cwnd of a connection of each group, and the packets
// of all connections on each link.
func (m *model) sum(state, cwnd, load []float64) {
	clear(cwnd)
	clear(load)
	for i, window := range m.windows(state) {
		path := m.paths[i]
		cwnd[path.group] += window
		load[path.link] += m.count[path.group] * window
	}
}

// slope evaluates eq. (6) and (7) at a state, with the marking ratios that the
// senders learn of at that moment.
func (m *model) slope(state, marked, slope []float64) {
	m.sum(state, m.cwnd, m.load)
	queues := m.queues(state)
	for i, window := range m.windows(state) {
		path := m.paths[i]
		rtt, ratio := m.links[path.link].rtt(queues[path.link]), marked[path.link]
		// §3.2.1, eq. (6): each ACK of this path, w_i/R_j of them a second, adds
		// a packet to it with probability 1/cwnd, or takes one with 1/2.
		slope[i] = window / rtt * ((1-ratio)/m.cwnd[path.group] - ratio/2)
	}
	growth := m.queues(slope)
	for j := range m.links {
		link := &m.links[j]
		// §3.2.1, eq. (7).
		growth[j] = m.load[j]/link.rtt(queues[j]) - link.capacity
		if queues[j] <= 0 {
			growth[j] = max(0, growth[j])
		}
	}
}

// reachability tells which links each group has virtual paths on.
func (m *model) reachability() [][]bool {
	reaches := make([][]bool, len(m.count))
	for g := range reaches {
		reaches[g] = make([]bool, len(m.links))
	}
	for _, path := range m.paths {
		reaches[path.group][path.link] = true
	}
	return reaches
}

// reached tells whether any virtual path is mapped to a link.
func (m *model) reached(link int) bool {
	for _, path := range m.paths {
		if path.link == link {
			return true
		}
	}
	return false
}
