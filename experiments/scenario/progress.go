package scenario

import (
	"time"

	"github.com/braid-rdma/braid/sim"
)

// Progress is how far a run has come.
type Progress struct {
	Simulated     sim.Time
	Share         float64       // of the run, 0 to 1
	HopsPerSecond float64       // packets over links, per second of real time, since the last report
	Left          time.Duration // real time, estimated; negative: unknown
}

// acked is the payload that has been acknowledged, of all flows.
func (r *Run) acked() (total int64) {
	for _, f := range r.Flows {
		total += f.Acked()
	}
	return total
}

// delivered is the payload that has arrived, of all flows.
func (r *Run) delivered() (total int64) {
	for _, f := range r.Flows {
		total += f.Delivered()
	}
	return total
}

// meter estimates how far a run is.
type meter struct {
	run      *Run
	bytes    int64 // of all flows; 0 if some have no end
	began    time.Time
	share    float64 // when Go was called
	reported time.Time
	hops     uint64
}

func newMeter(r *Run, now time.Time) *meter {
	m := &meter{run: r, began: now, reported: now, hops: r.Net.Hops()}
	if !r.endless {
		for i := range r.Scenario.flows {
			m.bytes += r.Scenario.flows[i].Bytes
		}
	}
	m.share = m.done()
	return m
}

// done is the share of the run that is over: by bytes where flows end, because
// they hardly ever need the whole duration, else by time.
func (m *meter) done() float64 {
	share := float64(m.run.at) / float64(m.run.Scenario.Duration)
	if m.bytes > 0 {
		share = max(share, float64(m.run.acked())/float64(m.bytes))
	}
	if m.run.Complete {
		share = 1
	}
	return share
}

func (m *meter) read(now time.Time) Progress {
	p := Progress{Simulated: m.run.at, Share: m.done(), Left: -1}
	hops := m.run.Net.Hops()
	if since := now.Sub(m.reported).Seconds(); since > 0 {
		p.HopsPerSecond = float64(hops-m.hops) / since
	}
	m.hops, m.reported = hops, now
	if gained := p.Share - m.share; gained > 0 {
		p.Left = time.Duration(float64(now.Sub(m.began)) * (1 - p.Share) / gained)
	}
	return p
}
