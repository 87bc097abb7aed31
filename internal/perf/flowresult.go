package perf

// FlowSchema names the form of FlowResult; a change that breaks readers changes it.
const FlowSchema = "braid.perf.flows/1"

// FlowResult is what became of a model of flows.
type FlowResult struct {
	Schema string `json:"schema"`
	Op     Op     `json:"op"`
	Model  string `json:"model"` // name of the distribution of sizes
	Loop   string `json:"loop"`  // open or closed
	// OfferedGbps is what an open loop asked for while it was on.
	OfferedGbps float64 `json:"offered_gbps"`
	OnSeconds   float64 `json:"on_s"`
	OffSeconds  float64 `json:"off_s"` // 0: always on
	Depth       int     `json:"depth"` // flows at the same time to one server
	Seed        uint64  `json:"seed"`

	// DurationSeconds is from the beginning to the last completion.
	DurationSeconds float64 `json:"duration_s"`
	// All are the flows that arrived, Classes the same by size, without those that have none.
	All     FlowClass   `json:"all"`
	Classes []FlowClass `json:"classes"`
	// GoodputGbps is of all bytes that arrived, those of unfinished flows too.
	GoodputGbps float64      `json:"goodput_gbps"`
	Servers     []FlowServer `json:"servers"`
	// Unfinished flows had begun when the test ended, Waiting ones had not, and TurnedAway
	// ones would have been too many to wait.
	Unfinished uint64 `json:"unfinished"`
	Waiting    uint64 `json:"waiting"`
	TurnedAway uint64 `json:"turned_away"`
	// Retransmits and Spurious are as those of Result.
	Retransmits uint64  `json:"retransmits"`
	Spurious    *uint64 `json:"spurious_retransmits"`

	QP          string `json:"qp"`
	Policy      string `json:"policy"`
	CC          string `json:"cc"`
	Paths       int    `json:"paths"`
	MTU         int    `json:"mtu"`
	Interrupted bool   `json:"interrupted,omitempty"`

	// AllToAll says that each of Servers sent to each other one, of which Pairs tell;
	// OfferedGbps is of all together.
	AllToAll bool       `json:"all_to_all,omitempty"`
	Pairs    []FlowPair `json:"pairs,omitempty"`
	// AtLimit are those that sent about as much as they allow others to ask for.
	AtLimit []string `json:"at_limit,omitempty"`
	// Missing are those that had not reported some time after the test was interrupted.
	Missing []string `json:"missing,omitempty"`
}

// FlowClass is the flows of one range of sizes.
type FlowClass struct {
	Above       int64   `json:"above_bytes"`
	UpTo        int64   `json:"up_to_bytes"` // 0: no limit
	Flows       uint64  `json:"flows"`
	Bytes       int64   `json:"bytes"`
	GoodputGbps float64 `json:"goodput_gbps"`
	// CompletionMicros is from the time at which a flow was to begin, so that one which has to
	// wait for a queue pair has waited, to the arrival of its last byte.
	CompletionMicros LatencyMicros `json:"fct_us"`
}

// FlowServer is what one server had of the flows.
type FlowServer struct {
	Address     string  `json:"address"`
	Flows       uint64  `json:"flows"`
	Bytes       uint64  `json:"bytes"`
	GoodputGbps float64 `json:"goodput_gbps"`
	// CompletionMicros is as that of a class; nil with AllToAll, where Pairs have it.
	CompletionMicros *LatencyMicros `json:"fct_us,omitempty"`
}

// result puts together what both ends know.
func (d *flowDriver) result(there *counters) *FlowResult {
	spec, c := d.spec, &d.spec.Connection
	own, here := d.total.summary(), d.counters()
	gbps := func(bytes float64) float64 { return bytes * 8 / own.Seconds / 1e9 }
	r := &FlowResult{
		Schema: FlowSchema, Op: c.Op, Model: spec.Sizes.Name(), Loop: "closed",
		OfferedGbps: spec.Rate / 1e9, OnSeconds: spec.On.Seconds(), OffSeconds: spec.Off.Seconds(),
		Depth: c.QPs, Seed: spec.Seed,
		DurationSeconds: own.Seconds, GoodputGbps: gbps(float64(own.Bytes)),
		Classes:    []FlowClass{},
		Unfinished: d.tally.unfinished, Waiting: d.tally.waiting, TurnedAway: d.tally.turnedAway,
		Retransmits: here.Retransmits + there.Retransmits,
		QP:          c.QP, Policy: c.Policy, CC: c.CC,
		Paths: len(here.Paths), MTU: d.servers[0].qps[0].Query().Attr.MTU,
	}
	if spec.Rate > 0 {
		r.Loop = "open"
	}
	if c.QP == "mp" {
		spurious := here.Spurious + there.Spurious
		r.Spurious = &spurious
	}
	r.takeClasses(d.tally)
	for _, s := range d.servers {
		bytes, times := s.meter.bytes.Load(), s.meter.latency.summary()
		r.Servers = append(r.Servers, FlowServer{
			Address: s.name, Flows: s.flows, Bytes: bytes, GoodputGbps: gbps(float64(bytes)), CompletionMicros: &times,
		})
	}
	return r
}

// takeClasses takes in the flows by size, of the duration of the result.
func (r *FlowResult) takeClasses(t *tally) {
	gbps := func(bytes int64) float64 { return float64(bytes) * 8 / r.DurationSeconds / 1e9 }
	all := newHistogram()
	for i := range t.classes {
		class := &t.classes[i]
		if class.flows == 0 {
			continue
		}
		all.add(class.times)
		r.All.Flows += class.flows
		r.All.Bytes += class.bytes
		r.Classes = append(r.Classes, FlowClass{
			Above: class.above, UpTo: class.upTo, Flows: class.flows, Bytes: class.bytes,
			GoodputGbps: gbps(class.bytes), CompletionMicros: class.times.summary(),
		})
	}
	r.All.GoodputGbps, r.All.CompletionMicros = gbps(r.All.Bytes), all.summary()
}
