package results

import (
	"github.com/braid-rdma/braid/experiments/scenario"
	"github.com/braid-rdma/braid/sim"
)

// FlowRow is a flow in the file flows. Times that did not come are -1.
type FlowRow struct {
	Flow          int     `col:"flow"`
	Workload      int     `col:"workload"` // the entry of the scenario's workload
	Transport     string  `col:"transport"`
	Class         string  `col:"class"`
	Source        int     `col:"source"` // hosts
	Destination   int     `col:"destination"`
	Bytes         int64   `col:"bytes"` // 0: endless
	StartedUs     float64 `col:"started_us"`
	FinishedUs    float64 `col:"finished_us"`
	FCTUs         float64 `col:"fct_us"`
	IdealUs       float64 `col:"ideal_us"`
	Slowdown      float64 `col:"slowdown"`
	Acked         int64   `col:"acked_bytes"`
	GoodputBps    float64 `col:"goodput_bps"`
	Error         string  `col:"error"`
	Packets       uint64  `col:"packets"`
	Retransmitted uint64  `col:"retransmitted"`
	Timeouts      uint64  `col:"timeouts"`
	Naks          uint64  `col:"naks"`
	CNPs          uint64  `col:"cnps"`
	Marked        uint64  `col:"marked"`
	OutOfOrder    uint64  `col:"out_of_order"`
	MaxOutOfOrder uint64  `col:"max_out_of_order"`
	Duplicates    uint64  `col:"duplicates"`
}

func flowRow(f *scenario.Flow, r *sim.FlowResult, now sim.Time) FlowRow {
	row := FlowRow{
		Flow: f.Number, Workload: f.Workload, Transport: f.Transport, Class: r.Class,
		Source: r.Src, Destination: r.Dst, Bytes: r.Bytes,
		StartedUs: -1, FinishedUs: -1, FCTUs: -1, Slowdown: -1,
		IdealUs: r.Ideal.Microseconds(), Acked: r.Acked, GoodputBps: r.Goodput(now),
		Packets: r.Packets, Retransmitted: r.Retransmitted, Timeouts: r.Timeouts, Naks: r.Naks, CNPs: r.CNPs,
		Marked: r.Marked, OutOfOrder: r.OutOfOrder, MaxOutOfOrder: r.MaxOutOfOrder, Duplicates: r.Duplicates,
	}
	if r.Started >= 0 {
		row.StartedUs = r.Started.Microseconds()
	}
	if r.Done() {
		row.FinishedUs, row.FCTUs, row.Slowdown = r.Finished.Microseconds(), r.Duration().Microseconds(), r.Slowdown()
	}
	if r.Err != nil {
		row.Error = r.Err.Error()
	}
	return row
}

// LinkRow is one direction of a link in the file links.
type LinkRow struct {
	Link        string  `col:"link"`
	From        string  `col:"from_node"`
	To          string  `col:"to_node"`
	RateBps     int64   `col:"rate_bps"`
	Packets     uint64  `col:"packets"`
	Bytes       uint64  `col:"bytes"`
	Utilisation float64 `col:"utilisation"`
	Marked      uint64  `col:"marked"`
	Dropped     uint64  `col:"dropped"`
	Lost        uint64  `col:"lost"`
	Damaged     uint64  `col:"damaged"`
	Doubled     uint64  `col:"doubled"`
	Pauses      uint64  `col:"pauses"`
	PausedUs    float64 `col:"paused_us"`
	Expired     uint64  `col:"pauses_expired"`
	PausesLost  uint64  `col:"pauses_lost"`
	PeakQueue   int     `col:"peak_queue_bytes"`
}

func linkRow(l *sim.LinkResult, now sim.Time) LinkRow {
	row := LinkRow{
		Link: l.Name, From: l.From, To: l.To, RateBps: l.Rate, Packets: l.Packets, Bytes: l.Bytes,
		Marked: l.Marked, Dropped: l.Dropped, Lost: l.Lost, Damaged: l.Damaged, Doubled: l.Doubled,
		Pauses: l.Pauses, PausedUs: l.Paused.Microseconds(), Expired: l.Expired, PausesLost: l.PausesLost, PeakQueue: l.PeakQueue,
	}
	if now > 0 {
		row.Utilisation = l.Utilisation(now)
	}
	return row
}

// SampleRow is one value of one series in the file series.
type SampleRow struct {
	TimeUs  float64 `col:"time_us"`
	Metric  string  `col:"metric"`
	Subject string  `col:"subject"`
	Value   float64 `col:"value"`
}

// PathRow is one virtual path of a measured flow in the file paths.
type PathRow struct {
	Flow         int     `col:"flow"`
	Path         int     `col:"path"`
	Sent         uint64  `col:"sent"`
	Acknowledged uint64  `col:"acknowledged"`
	Lost         uint64  `col:"lost"`
	Marked       uint64  `col:"marked"`
	Bytes        uint64  `col:"bytes"`
	RTTUs        float64 `col:"rtt_us"`
	Retired      bool    `col:"retired"`
}

// DegreeRow is the packets of one out-of-order degree in the file degrees.
type DegreeRow struct {
	Transport string `col:"transport"`
	Degree    int    `col:"degree"`
	Packets   uint64 `col:"packets"`
}
