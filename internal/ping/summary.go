package ping

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/braid-rdma/braid/internal/statistics"
)

// Part is where the time of a probe was spent.
type Part string

// The parts of a round trip.
const (
	PartNetwork   Part = "network"
	PartProber    Part = "prober"
	PartResponder Part = "responder"
)

// Latency are times in microseconds.
type Latency struct {
	Min float64 `json:"min"`
	Avg float64 `json:"avg"`
	Max float64 `json:"max"`
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
}

// PathSummary is what became of the probes of one kind on one path.
type PathSummary struct {
	By       By     `json:"by"`
	Path     int    `json:"path"` // AnyPath: all
	Port     uint16 `json:"source_port,omitempty"`
	PeerPort uint16 `json:"reply_source_port,omitempty"`

	Sent     uint64  `json:"sent"`
	Received uint64  `json:"received"`
	Loss     float64 `json:"loss"` // a fraction of those that were sent
	// Skipped were due and not sent: too many were under way. LastError says which, if none was lost since.
	Skipped uint64 `json:"skipped,omitempty"`
	// Retransmitted is how many packets of WRITEs were sent again.
	Retransmitted uint64 `json:"retransmitted"`

	// Of RTT the percentiles are those of the latest thousand replies, as the rest is.
	RTT       Latency `json:"rtt_micros"`
	Network   Latency `json:"network_micros"`
	Prober    Latency `json:"prober_micros"`
	Responder Latency `json:"responder_micros"`
	// Tail is the part that has grown most in the slowest hundredth of the replies, and at
	// least in the slowest one; empty where there are too few to tell.
	Tail Part `json:"tail,omitempty"`
	// LastError is why the latest probe that was lost, or not sent, was so.
	LastError string `json:"last_error,omitempty"`
}

// Summary gathers the results of a peer.
type Summary struct {
	paths map[connectionKey]*pathRecord
}

// pathRecord gathers the results of one kind and path.
type pathRecord struct {
	summary PathSummary
	total   time.Duration // of all RTTs
	recent  []Stamps      // a ring, once it is full
	next    int
}

// Add adds a result. One that was not sent, for too many were under way, is not lost.
func (s *Summary) Add(r *Result) {
	if s.paths == nil {
		s.paths = map[connectionKey]*pathRecord{}
	}
	key := connectionKey{r.By, r.Path}
	p := s.paths[key]
	if p == nil {
		p = &pathRecord{summary: PathSummary{By: r.By, Path: r.Path}}
		s.paths[key] = p
	}
	p.add(r)
}

func (p *pathRecord) add(r *Result) {
	s := &p.summary
	if errors.Is(r.Err, ErrBusy) {
		s.Skipped++
		s.LastError = r.Err.Error()
		return
	}
	s.Sent++
	s.Retransmitted += r.Retransmitted
	s.Port, s.PeerPort = cmp.Or(r.Port, s.Port), cmp.Or(r.PeerPort, s.PeerPort)
	if r.Err != nil {
		s.LastError = r.Err.Error()
		return
	}
	rtt := micros(r.Stamps.RTT())
	if s.Received == 0 || rtt < s.RTT.Min {
		s.RTT.Min = rtt
	}
	s.RTT.Max = max(s.RTT.Max, rtt)
	s.Received++
	p.total += r.Stamps.RTT()
	if len(p.recent) < sampleWindow {
		p.recent = append(p.recent, r.Stamps)
		return
	}
	p.recent[p.next] = r.Stamps
	p.next = (p.next + 1) % sampleWindow
}

// Paths are the summaries, by kind and path.
func (s *Summary) Paths() []PathSummary {
	all := make([]PathSummary, 0, len(s.paths))
	for _, p := range s.paths {
		all = append(all, p.summarise())
	}
	slices.SortFunc(all, func(a, b PathSummary) int {
		return cmp.Or(slices.Index(Kinds, a.By)-slices.Index(Kinds, b.By), a.Path-b.Path)
	})
	return all
}

func (p *pathRecord) summarise() PathSummary {
	s := p.summary
	if s.Sent > 0 {
		s.Loss = 1 - float64(s.Received)/float64(s.Sent)
	}
	if s.Received == 0 {
		return s
	}
	s.RTT.Avg = micros(p.total) / float64(s.Received)
	recent := latencyOf(p.recent, (*Stamps).RTT)
	s.RTT.P50, s.RTT.P99 = recent.P50, recent.P99
	s.Network = latencyOf(p.recent, (*Stamps).Network)
	s.Prober = latencyOf(p.recent, (*Stamps).Prober)
	s.Responder = latencyOf(p.recent, (*Stamps).Responder)
	s.Tail = tailOf(p.recent)
	return s
}

// fewSamples is below which a slowest one means nothing.
const fewSamples = 10

// tailOf is the part that has grown most, against its median, in the slowest hundredth.
func tailOf(all []Stamps) (tail Part) {
	if len(all) < fewSamples {
		return ""
	}
	slowest := slices.SortedFunc(slices.Values(all), func(a, b Stamps) int { return cmp.Compare(b.RTT(), a.RTT()) })
	slowest = slowest[:(len(all)+99)/100]
	most := 0.0
	for _, part := range []struct {
		name Part
		of   func(*Stamps) time.Duration
	}{{PartNetwork, (*Stamps).Network}, {PartProber, (*Stamps).Prober}, {PartResponder, (*Stamps).Responder}} {
		if growth := latencyOf(slowest, part.of).Avg - latencyOf(all, part.of).P50; growth > most {
			most, tail = growth, part.name
		}
	}
	return tail
}

// latencyOf describes a part of at least one round trip.
func latencyOf(all []Stamps, part func(*Stamps) time.Duration) Latency {
	sorted := make([]float64, len(all))
	for i := range all {
		sorted[i] = micros(part(&all[i]))
	}
	slices.Sort(sorted)
	return Latency{
		Min: sorted[0], Avg: statistics.Mean(sorted), Max: sorted[len(sorted)-1],
		P50: statistics.Quantile(sorted, 0.5), P99: statistics.Quantile(sorted, 0.99),
	}
}

// Total adds up the probes of all paths.
func (s *Summary) Total() (sent, received uint64) {
	for _, p := range s.paths {
		sent += p.summary.Sent
		received += p.summary.Received
	}
	return sent, received
}

func micros(d time.Duration) float64 { return float64(d) / 1e3 }
