package perf

import (
	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

// Schema names the form of Report; a change that breaks readers changes it.
const Schema = "braid.perf/1"

// Result is the outcome of a test with one message size. All keys are always
// there, whatever was measured.
type Result struct {
	Op         Op     `json:"op"`
	Metric     Metric `json:"metric"`
	Bytes      int    `json:"bytes"`      // of a message
	Iterations uint64 `json:"iterations"` // operations that completed, of all queue pairs
	// DurationSeconds is from the first posting to the last completion.
	DurationSeconds float64 `json:"duration_s"`
	GoodputGbps     float64 `json:"goodput_gbps"`
	PeakMiBps       float64 `json:"bw_peak_mib_s"`
	AverageMiBps    float64 `json:"bw_average_mib_s"`
	MessageRateMpps float64 `json:"msg_rate_mpps"`
	// LatencyMicros is half a round trip for the latency of SEND and WRITE, a
	// whole operation for READ and atomics; in a bandwidth test it is the time
	// from the posting of an operation to its completion, under full load.
	LatencyMicros LatencyMicros `json:"lat_us"`
	// Histogram has the latencies themselves, where it was asked for.
	Histogram []Bin `json:"histogram,omitempty"`
	// Retransmits counts the packets that either end sent again.
	Retransmits uint64 `json:"retransmits"`
	// Spurious counts those of them that were not needed: the packet had arrived,
	// and only its acknowledgement was late. The rest were lost. Nil of RC, whose
	// acknowledgements do not say which transmission has arrived.
	Spurious *uint64 `json:"spurious_retransmits"`
	// Paths are those of the end that sends the data, all queue pairs together.
	Paths []PathResult `json:"paths"`
	// PathsAsked and MTUAsked are what the test was to have; the ends may have agreed
	// on less, which Paths and MTU tell. 0: nothing was asked for.
	PathsAsked int `json:"paths_asked,omitempty"`
	MTUAsked   int `json:"mtu_asked,omitempty"`

	QP            string `json:"qp"`
	Policy        string `json:"policy"` // empty for rc
	CC            string `json:"cc"`
	Paper         bool   `json:"paper"`
	QPs           int    `json:"qps"`
	TxDepth       int    `json:"tx_depth"`
	MTU           int    `json:"mtu"`
	Bidirectional bool   `json:"bidirectional"`
	// CPUPercent is how busy the processors of the client's machine were; nil if nobody asked.
	CPUPercent *float64 `json:"cpu_util_percent,omitempty"`
	// Interrupted says that the test was ended before its time: the rest is what was
	// measured until then.
	Interrupted bool `json:"interrupted,omitempty"`
	// Verified is null when the test was not asked to verify.
	Verified *bool `json:"verified"`
}

// PathResult is what one path carried.
type PathResult struct {
	Path      int     `json:"path"`
	Packets   uint64  `json:"packets"`
	Bytes     uint64  `json:"bytes"`
	Lost      uint64  `json:"lost"`
	Marked    uint64  `json:"ecn_marked"`
	RTTMicros float64 `json:"rtt_us"`
	Retired   bool    `json:"retired"` // out of use when the test ended

	acknowledged uint64 // packets
}

// Report is what `braid perf --json` prints: the result, and with several
// sizes the results of all, of which the last stands at the top as well.
type Report struct {
	Schema string `json:"schema"`
	Result
	Results []Result `json:"results,omitempty"`
}

// NewReport makes the report of at least one result.
func NewReport(results []Result) Report {
	r := Report{Schema: Schema, Result: results[len(results)-1]}
	if len(results) > 1 {
		r.Results = results
	}
	return r
}

// counters are what one end's queue pairs counted.
type counters struct {
	Retransmits uint64 `json:"retransmits"`
	Spurious    uint64 `json:"spurious"`
	// marked are the congestion notifications that a queue pair has got of packets
	// which it sent: marks that came back (mp), or CNPs (rc).
	marked uint64
	Paths  []PathResult `json:"paths"`
}

// counters adds up the queue pairs of an endpoint.
func (e *endpoint) counters() counters {
	var sum counters
	for _, qp := range e.qps {
		own := countersOf(qp)
		sum.add(&own)
	}
	return sum
}

func countersOf(qp *verbs.QP) counters {
	stats := qp.Stats()
	c := counters{Retransmits: stats.Retransmitted, Spurious: stats.Spurious, marked: stats.CNPHandled}
	paths := qp.PathStats()
	if len(paths) == 0 {
		// A queue pair without multi-path has one path, and all packets took it.
		paths = []verbs.PathStats{{
			Sent: stats.PacketsSent, Bytes: stats.BytesSent, Lost: stats.Retransmitted,
		}}
	}
	for i := range paths {
		p := &paths[i]
		c.marked += p.Marked
		c.Paths = append(c.Paths, PathResult{
			Path: i, Packets: p.Sent, Bytes: p.Bytes, Lost: p.Lost, Marked: p.Marked, acknowledged: p.Acknowledged,
			RTTMicros: float64(p.SmoothedRTT) / float64(transport.Microsecond), Retired: p.Retired,
		})
	}
	return c
}

// add adds what other queue pairs counted.
func (c *counters) add(other *counters) {
	c.Retransmits += other.Retransmits
	c.Spurious += other.Spurious
	c.marked += other.marked
	for i := range other.Paths {
		if i == len(c.Paths) {
			c.Paths = append(c.Paths, PathResult{Path: i})
		}
		c.Paths[i].add(&other.Paths[i])
	}
}

// add adds what other queue pairs had of the path. Of several the slowest tells most about it.
func (p *PathResult) add(other *PathResult) {
	p.Packets += other.Packets
	p.Bytes += other.Bytes
	p.Lost += other.Lost
	p.Marked += other.Marked
	p.RTTMicros = max(p.RTTMicros, other.RTTMicros)
	p.Retired = p.Retired || other.Retired
	p.acknowledged += other.acknowledged
}

// newResult puts together what both ends know.
func newResult(e *endpoint, own, peer *summary, here, there *counters) *Result {
	spec := &e.spec
	r := &Result{
		Op: spec.Op, Metric: spec.Metric, Bytes: spec.Size,
		Iterations: own.Operations, DurationSeconds: own.Seconds,
		PeakMiBps: own.Peak / (1 << 20), AverageMiBps: own.Average / (1 << 20),
		GoodputGbps:     own.Average * 8 / 1e9,
		MessageRateMpps: float64(own.Operations) / own.Seconds / 1e6,
		LatencyMicros:   own.Latency,
		Retransmits:     here.Retransmits + there.Retransmits,
		Paths:           here.Paths,
		QP:              spec.QP, Policy: spec.Policy, CC: spec.CC, Paper: spec.Paper,
		QPs: spec.QPs, TxDepth: spec.TxDepth, MTU: e.qps[0].Query().Attr.MTU,
		Bidirectional: spec.Bidirectional, PathsAsked: spec.Paths, MTUAsked: spec.MTU,
	}
	if spec.Histogram {
		r.Histogram = own.bins
	}
	if spec.QP == "mp" {
		spurious := here.Spurious + there.Spurious
		r.Spurious = &spurious
	}
	if spec.Op == Read {
		// The responder sends the data of a READ.
		r.Paths = there.Paths
	}
	if spec.Bidirectional {
		// As in perftest, a bidirectional test reports the sum of both directions.
		r.Iterations += peer.Operations
		r.PeakMiBps += peer.Peak / (1 << 20)
		r.AverageMiBps += peer.Average / (1 << 20)
		r.GoodputGbps += peer.Average * 8 / 1e9
		r.MessageRateMpps += float64(peer.Operations) / peer.Seconds / 1e6
	}
	return r
}
