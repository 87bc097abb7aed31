package mprdma20

import (
	"math"

	"github.com/braid-rdma/braid/sim"
	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/wire"
)

// intervals are the inactive intervals by which packets are divided into flowlets: those of the paper's text and some
// around them.
var intervals = [...]sim.Time{
	500 * sim.Nanosecond, sim.Microsecond, two, 5 * sim.Microsecond, 10 * sim.Microsecond,
	20 * sim.Microsecond, 50 * sim.Microsecond, hundred, 200 * sim.Microsecond, 500 * sim.Microsecond,
}

const (
	two     = 2 * sim.Microsecond
	hundred = 100 * sim.Microsecond
)

// flowlets divides what hosts send into flowlets. It is the tracer of all queue pairs of a run, which has one worker.
type flowlets struct {
	flows map[key]*packets
}

// key is a queue pair; their numbers are those of their host.
type key struct {
	host string
	qp   wire.QPN
}

// packets is what one queue pair has sent.
type packets struct {
	last     transport.Time
	total    uint64
	current  [len(intervals)]uint64 // bytes of the flowlet that goes on, by interval
	least    [len(intervals)]uint64 // bytes of the shortest that has ended; 0: none has
	flowlets [len(intervals)]int
}

// of is the tracer of a host; each knows what all have sent.
func (f *flowlets) of(host string) transport.Tracer { return hostFlowlets{f, host} }

type hostFlowlets struct {
	*flowlets
	host string
}

// Trace takes packets of data that are sent.
func (f hostFlowlets) Trace(now transport.Time, e transport.TraceEvent) {
	if e.Kind != transport.TraceSent || e.Bytes == 0 {
		return
	}
	p := f.flows[key{f.host, e.QPN}]
	if p == nil {
		p = &packets{last: now}
		f.flows[key{f.host, e.QPN}] = p
	}
	p.add(now, uint64(e.Bytes))
}

func (p *packets) add(now transport.Time, bytes uint64) {
	pause := sim.Time(now-p.last) * sim.Nanosecond
	for i, interval := range intervals {
		if pause > interval {
			p.end(i)
		}
		p.current[i] += bytes
	}
	p.total += bytes
	p.last = now
}

// end ends the flowlet of an interval.
func (p *packets) end(i int) {
	if p.flowlets[i]++; p.least[i] == 0 || p.current[i] < p.least[i] {
		p.least[i] = p.current[i]
	}
	p.current[i] = 0
}

// leastShare is the shortest flowlet of all flows at an interval, as a share of its flow.
func (f *flowlets) leastShare(i int) float64 {
	share := math.Inf(1)
	for _, p := range f.flows {
		least := p.current[i]
		if p.least[i] > 0 {
			least = min(least, p.least[i])
		}
		share = min(share, float64(least)/float64(p.total))
	}
	return share
}

// mean is the mean size of the flowlets of all flows at an interval, in bytes.
func (f *flowlets) mean(i int) float64 {
	bytes, n := 0.0, 0.0
	for _, p := range f.flows {
		bytes += float64(p.total)
		n += float64(p.flowlets[i] + 1)
	}
	return bytes / n
}
