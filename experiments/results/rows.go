package results

import (
	"github.com/braid-rdma/braid/experiments/scenario"
	"github.com/braid-rdma/braid/sim"
)

// Counts are signed: many readers of Parquet know no unsigned numbers.

// FlowRow is a flow in the file flows. Times that did not come are -1.
type FlowRow struct {
	Flow          int     `parquet:"flow,delta"`
	Workload      int     `parquet:"workload,delta"` // the entry of the scenario's workload
	Transport     string  `parquet:"transport,dict"`
	Class         string  `parquet:"class,dict"`
	Source        int     `parquet:"source,delta"` // hosts
	Destination   int     `parquet:"destination,delta"`
	Bytes         int64   `parquet:"bytes,delta"` // 0: endless
	StartedUs     float64 `parquet:"started_us"`
	FinishedUs    float64 `parquet:"finished_us"`
	FCTUs         float64 `parquet:"fct_us"`
	IdealUs       float64 `parquet:"ideal_us"`
	Slowdown      float64 `parquet:"slowdown"`
	Acked         int64   `parquet:"acked_bytes,delta"`
	GoodputBps    float64 `parquet:"goodput_bps"`
	Error         string  `parquet:"error,dict"`
	Packets       int64   `parquet:"packets,delta"`
	Retransmitted int64   `parquet:"retransmitted,delta"`
	Timeouts      int64   `parquet:"timeouts,delta"`
	Naks          int64   `parquet:"naks,delta"`
	CNPs          int64   `parquet:"cnps,delta"`
	Marked        int64   `parquet:"marked,delta"`
	OutOfOrder    int64   `parquet:"out_of_order,delta"`
	MaxOutOfOrder int64   `parquet:"max_out_of_order,delta"`
	Duplicates    int64   `parquet:"duplicates,delta"`
}

func flowRow(f *scenario.Flow, r *sim.FlowResult, now sim.Time) FlowRow {
	row := FlowRow{
		Flow: f.Number, Workload: f.Workload, Transport: f.Transport, Class: r.Class,
		Source: r.Src, Destination: r.Dst, Bytes: r.Bytes,
		StartedUs: -1, FinishedUs: -1, FCTUs: -1, Slowdown: -1,
		IdealUs: r.Ideal.Microseconds(), Acked: r.Acked, GoodputBps: r.Goodput(now),
		Packets: int64(r.Packets), Retransmitted: int64(r.Retransmitted), Timeouts: int64(r.Timeouts), Naks: int64(r.Naks), CNPs: int64(r.CNPs),
		Marked: int64(r.Marked), OutOfOrder: int64(r.OutOfOrder), MaxOutOfOrder: int64(r.MaxOutOfOrder), Duplicates: int64(r.Duplicates),
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
	Link        string  `parquet:"link,dict"`
	From        string  `parquet:"from_node,dict"`
	To          string  `parquet:"to_node,dict"`
	RateBps     int64   `parquet:"rate_bps,delta"`
	Packets     int64   `parquet:"packets,delta"`
	Bytes       int64   `parquet:"bytes,delta"`
	Utilisation float64 `parquet:"utilisation"`
	Marked      int64   `parquet:"marked,delta"`
	Dropped     int64   `parquet:"dropped,delta"`
	Lost        int64   `parquet:"lost,delta"`
	Damaged     int64   `parquet:"damaged,delta"`
	Doubled     int64   `parquet:"doubled,delta"`
	Pauses      int64   `parquet:"pauses,delta"`
	PausedUs    float64 `parquet:"paused_us"`
	Expired     int64   `parquet:"pauses_expired,delta"`
	PausesLost  int64   `parquet:"pauses_lost,delta"`
	PeakQueue   int     `parquet:"peak_queue_bytes,delta"`
}

func linkRow(l *sim.LinkResult, now sim.Time) LinkRow {
	row := LinkRow{
		Link: l.Name, From: l.From, To: l.To, RateBps: l.Rate, Packets: int64(l.Packets), Bytes: int64(l.Bytes),
		Marked: int64(l.Marked), Dropped: int64(l.Dropped), Lost: int64(l.Lost), Damaged: int64(l.Damaged), Doubled: int64(l.Doubled),
		Pauses: int64(l.Pauses), PausedUs: l.Paused.Microseconds(), Expired: int64(l.Expired), PausesLost: int64(l.PausesLost), PeakQueue: l.PeakQueue,
	}
	if now > 0 {
		row.Utilisation = l.Utilisation(now)
	}
	return row
}

// SampleRow is one value of one series in the file series.
type SampleRow struct {
	TimeUs  float64 `parquet:"time_us"`
	Metric  string  `parquet:"metric,dict"`
	Subject string  `parquet:"subject,dict"`
	Value   float64 `parquet:"value"`
}

// PathRow is one virtual path of a measured flow in the file paths.
type PathRow struct {
	Flow         int     `parquet:"flow,delta"`
	Path         int     `parquet:"path,delta"`
	Sent         int64   `parquet:"sent,delta"`
	Acknowledged int64   `parquet:"acknowledged,delta"`
	Lost         int64   `parquet:"lost,delta"`
	Marked       int64   `parquet:"marked,delta"`
	Bytes        int64   `parquet:"bytes,delta"`
	RTTUs        float64 `parquet:"rtt_us"`
	Retired      bool    `parquet:"retired"`
}

// DegreeRow is the packets of one out-of-order degree in the file degrees.
type DegreeRow struct {
	Transport string `parquet:"transport,dict"`
	Degree    int    `parquet:"degree,delta"`
	Packets   int64  `parquet:"packets,delta"`
}
