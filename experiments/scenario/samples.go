package scenario

import (
	"fmt"

	"github.com/braid-rdma/braid/sim"
)

// Samples is what a run records at regular instants.
type Samples struct {
	Times  []sim.Time
	Series []*Series
}

// Series is one quantity over time: a value for each of Samples.Times.
type Series struct {
	Metric  string
	Subject string // "flow 3", the name of a queue, or "all"
	Values  []float64

	read func(interval sim.Time) float64
}

// The metrics of series. Rates and counts are those of the interval that ends
// with the sample, all else is as it stands at that instant.
const (
	MetricGoodput    = "goodput_bps"       // payload that arrived; subject "all": of all flows
	MetricQueue      = "queue_bytes"       // waiting for a link
	MetricWindow     = "window_packets"    // congestion window (MP)
	MetricInFlight   = "in_flight_packets" // MP
	MetricRTT        = "rtt_us"            // smoothed round trip (MP)
	MetricOutOfOrder = "out_of_order"      // packets that the receiver accepted ahead of the expected one
	MetricMaxDegree  = "max_out_of_order"  // the highest out-of-order degree so far
)

// SubjectAll is the subject of what is summed over all flows.
const SubjectAll = "all"

// SubjectFlow is the subject of a flow's series.
func SubjectFlow(number int) string { return fmt.Sprint("flow ", number) }

// Find returns a series, or nil if it was not recorded.
func (s *Samples) Find(metric, subject string) *Series {
	for _, series := range s.Series {
		if series.Metric == metric && series.Subject == subject {
			return series
		}
	}
	return nil
}

// prepare sets up the series that the scenario asks for.
func (s *Samples) prepare(r *Run) {
	m := &r.Scenario.Measure
	if m.Sample == 0 {
		return
	}
	s.add(MetricGoodput, SubjectAll, rateOf(r.delivered))
	for _, name := range m.Queues {
		number, _ := queueNumber(r.Scenario.graph, name)
		s.add(MetricQueue, r.Net.Link(number).Name, func(sim.Time) float64 { return float64(r.Net.Link(number).Queue) })
	}
	for _, number := range m.Flows {
		s.addFlow(r.Flows[number], m.Windows)
	}
}

func (s *Samples) add(metric, subject string, read func(sim.Time) float64) {
	s.Series = append(s.Series, &Series{Metric: metric, Subject: subject, read: read})
}

func (s *Samples) addFlow(f *Flow, windows bool) {
	subject := SubjectFlow(f.Number)
	s.add(MetricGoodput, subject, rateOf(f.Delivered))
	if !windows {
		return
	}
	s.add(MetricWindow, subject, func(sim.Time) float64 { return f.State().Window })
	s.add(MetricInFlight, subject, func(sim.Time) float64 { return float64(f.State().InFlight) })
	s.add(MetricRTT, subject, func(sim.Time) float64 { return float64(f.State().SmoothedRTT) / 1000 })
	before := uint64(0)
	s.add(MetricOutOfOrder, subject, func(sim.Time) float64 {
		now := f.Result().OutOfOrder
		defer func() { before = now }()
		return float64(now - before)
	})
	s.add(MetricMaxDegree, subject, func(sim.Time) float64 { return float64(f.Result().MaxOutOfOrder) })
}

// rateOf makes a rate in bits per second of a count of bytes.
func rateOf(bytes func() int64) func(sim.Time) float64 {
	before := int64(0)
	return func(interval sim.Time) float64 {
		now := bytes()
		gained := now - before
		before = now
		return float64(gained) * 8 / interval.Seconds()
	}
}

// take records a sample.
func (s *Samples) take(at, interval sim.Time) {
	s.Times = append(s.Times, at)
	for _, series := range s.Series {
		series.Values = append(series.Values, series.read(interval))
	}
}
