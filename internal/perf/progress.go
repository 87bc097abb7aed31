package perf

import "time"

// progressInterval is the time between two calls of a progress function when nothing is
// said of it.
const progressInterval = 250 * time.Millisecond

// Progress is how far a test is: what was counted since it began.
type Progress struct {
	Elapsed    time.Duration
	Operations uint64
	Bytes      uint64
	// Retransmits are the packets that this end has sent again; Marked are those of its
	// packets that came through a queue, as it was told by marks or, with RC, by CNPs.
	Retransmits, Marked uint64
	// Paths are the bytes that each path has carried, as far as they are acknowledged.
	// There are none where the peer sends the data, and of RC, which has one path.
	Paths []uint64
}

// Interval is what came between two calls of a progress function: an event of `braid perf
// --json`.
type Interval struct {
	Event       string     `json:"event"` // interval
	Start       float64    `json:"start_s"`
	End         float64    `json:"end_s"`
	Operations  uint64     `json:"operations"`
	Bytes       uint64     `json:"bytes"`
	GoodputGbps float64    `json:"goodput_gbps"`
	Retransmits uint64     `json:"retransmits"`
	Marked      uint64     `json:"ecn_marked"`
	Paths       []PathRate `json:"paths"` // those that carried something since the beginning
}

// PathRate is what one path carried in an interval.
type PathRate struct {
	Path        int     `json:"path"`
	GoodputGbps float64 `json:"goodput_gbps"`
}

// Since is the interval from an earlier progress to this one.
func (p *Progress) Since(earlier *Progress) Interval {
	length := max(p.Elapsed-earlier.Elapsed, 1).Seconds()
	gbps := func(bytes uint64) float64 { return float64(bytes) * 8 / length / 1e9 }
	i := Interval{
		Event: "interval", Start: earlier.Elapsed.Seconds(), End: p.Elapsed.Seconds(),
		Operations: p.Operations - earlier.Operations, Bytes: p.Bytes - earlier.Bytes,
		GoodputGbps: gbps(p.Bytes - earlier.Bytes),
		Retransmits: p.Retransmits - earlier.Retransmits, Marked: p.Marked - earlier.Marked,
		Paths: []PathRate{},
	}
	for path, bytes := range p.Paths {
		if bytes == 0 {
			continue
		}
		if path < len(earlier.Paths) {
			bytes -= min(bytes, earlier.Paths[path])
		}
		i.Paths = append(i.Paths, PathRate{Path: path, GoodputGbps: gbps(bytes)})
	}
	return i
}

// observer tells somebody how far a test is.
type observer struct {
	tell     func(Progress) // nil: nobody asks
	interval time.Duration
}

// newObserver tells somebody, or nobody, every interval; default a few times a second.
func newObserver(tell func(Progress), interval time.Duration) observer {
	orDefault(&interval, progressInterval)
	return observer{tell: tell, interval: interval}
}

// watch tells what was measured and counted.
func (o observer) watch(m *meter, counted func() counters, paths bool) (stop func()) {
	return o.every(func(elapsed time.Duration) Progress { return progressOf(elapsed, m, counted(), paths) })
}

// every tells every interval how far a test is, from a goroutine of its own: a test in which
// nothing completes is what somebody who looks on wants to see. Stop tells the rest.
func (o observer) every(at func(elapsed time.Duration) Progress) (stop func()) {
	if o.tell == nil {
		return func() {}
	}
	began := time.Now()
	ended, told := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(told)
		ticker := time.NewTicker(o.interval)
		defer ticker.Stop()
		for running := true; running; {
			select {
			case <-ticker.C:
			case <-ended:
				running = false
			}
			o.tell(at(time.Since(began)))
		}
	}()
	return func() {
		close(ended)
		<-told
	}
}

func progressOf(elapsed time.Duration, m *meter, c counters, paths bool) Progress {
	p := Progress{
		Elapsed: elapsed, Operations: m.operations.Load(), Bytes: m.bytes.Load(),
		Retransmits: c.Retransmits, Marked: c.marked,
	}
	if !paths {
		return p
	}
	for i := range c.Paths {
		p.Paths = append(p.Paths, c.Paths[i].carried())
	}
	return p
}

// carried is the payload that arrived: packets are counted as they are acknowledged, bytes as
// they are sent.
func (p *PathResult) carried() uint64 {
	if p.Packets == 0 {
		return 0
	}
	return uint64(float64(p.Bytes) * float64(p.acknowledged) / float64(p.Packets))
}

// showsPaths says whether this end knows what the paths carry of the data.
func (s *Spec) showsPaths() bool { return s.QP == "mp" && (s.Op == Write || s.Op == Send) }

// add adds what another machine counted.
func (p *Progress) add(other *Progress) {
	p.Operations += other.Operations
	p.Bytes += other.Bytes
	p.Retransmits += other.Retransmits
	p.Marked += other.Marked
	for i, bytes := range other.Paths {
		if i == len(p.Paths) {
			p.Paths = append(p.Paths, 0)
		}
		p.Paths[i] += bytes
	}
}
