package command

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/braid-rdma/braid/cmd/braid/internal/cli"
	"github.com/braid-rdma/braid/internal/perf"
)

// The columns of perftest, in its words and order.
const (
	bandwidthHeader = " #bytes     #iterations    BW peak[MiB/sec]    BW average[MiB/sec]    MsgRate[Mpps]"
	bandwidthRow    = " %-10d %-14d %-19.2f %-22.2f %.6f"
	latencyHeader   = " #bytes     #iterations    t_min[usec]    t_max[usec]    t_typical[usec]    t_avg[usec]    t_stdev[usec]    99% percentile[usec]    99.9% percentile[usec]"
	latencyRow      = " %-10d %-14d %-14.2f %-14.2f %-18.2f %-14.2f %-16.2f %-23.2f %.2f"
	busyHeader      = "    CPU_Util[%]"
	busyRow         = "    %.2f"
)

// perfTable prints results as they come, or all of them as one JSON object.
type perfTable struct {
	w       io.Writer
	json    bool
	events  bool     // the JSON object is the last of several, each on a line
	gbits   bool     // bandwidths are in Gb/sec
	file    *os.File // where the JSON object goes as well; may be nil
	results []perf.Result
}

func newPerfTable(w io.Writer, json bool) *perfTable { return &perfTable{w: w, json: json} }

// add takes in a result, and prints its row.
func (t *perfTable) add(r *perf.Result) error {
	t.results = append(t.results, *r)
	if t.json {
		return nil
	}
	if len(t.results) == 1 {
		if err := t.heading(r); err != nil {
			return err
		}
	}
	row := t.row(r)
	if r.CPUPercent != nil {
		row += strings.Repeat(" ", max(0, len(t.header(r))-len(row))) + fmt.Sprintf(busyRow, *r.CPUPercent)
	}
	_, err := fmt.Fprintf(t.w, "%s\n%s", row, histogramLines(r))
	return err
}

// row is a result in the columns of its header.
func (t *perfTable) row(r *perf.Result) string {
	if l := r.LatencyMicros; r.Metric == perf.Latency {
		return fmt.Sprintf(latencyRow, r.Bytes, r.Iterations, l.Min, l.Max, l.P50, l.Avg, l.Stdev, l.P99, l.P999)
	}
	unit := 1.0
	if t.gbits {
		unit = gbitsOfMiB
	}
	return fmt.Sprintf(bandwidthRow, r.Bytes, r.Iterations, r.PeakMiBps*unit, r.AverageMiBps*unit, r.MessageRateMpps)
}

// gbitsOfMiB is a mebibyte in gigabits.
const gbitsOfMiB = (1 << 20) * 8 / 1e9

// header names the columns, without that of processors.
func (t *perfTable) header(r *perf.Result) string {
	switch {
	case r.Metric == perf.Latency:
		return latencyHeader
	case t.gbits:
		return strings.ReplaceAll(bandwidthHeader, "[MiB/sec]", "[Gb/sec] ")
	}
	return bandwidthHeader
}

// histogramLines have the latencies of a result, if it has them.
func histogramLines(r *perf.Result) string {
	if len(r.Histogram) == 0 {
		return ""
	}
	var lines strings.Builder
	lines.WriteString(" up to[usec]    #operations    of all[%]\n")
	var sum int64
	for _, bin := range r.Histogram {
		sum += bin.Count
		fmt.Fprintf(&lines, " %-14g %-14d %.2f\n", bin.UpToMicros, bin.Count, 100*float64(sum)/float64(r.Iterations))
	}
	return lines.String()
}

// heading tells what is measured, above the names of the columns.
func (t *perfTable) heading(r *perf.Result) error {
	header := t.header(r)
	if r.CPUPercent != nil {
		header += busyHeader
	}
	rule := strings.Repeat("-", len(header))
	title := fmt.Sprintf("%s %s", opTitles[r.Op], metricTitles[r.Metric])
	if r.Bidirectional {
		title += ", bidirectional"
	}
	connection := fmt.Sprintf("%s, %d queue pair(s), MTU %s, TX depth %d", strings.ToUpper(r.QP), r.QPs, agreed(r.MTU, r.MTUAsked), r.TxDepth)
	if r.QP == "mp" {
		connection += fmt.Sprintf(", %s paths, policy %s", agreed(len(r.Paths), r.PathsAsked), r.Policy)
	}
	connection += ", congestion control " + r.CC
	_, err := fmt.Fprintf(t.w, "%s\n %s: %s\n%s\n%s\n", rule, title, connection, rule, header)
	return err
}

// agreed is a number that both ends agreed on, and what was asked for if that was more.
func agreed(got, asked int) string {
	if asked <= got {
		return strconv.Itoa(got)
	}
	return fmt.Sprintf("%d (%d asked for)", got, asked)
}

// finish prints what belongs below the rows, or the JSON object.
func (t *perfTable) finish() error {
	if len(t.results) == 0 {
		return nil
	}
	if t.file != nil {
		if err := cli.PrintJSON(t.file, perf.NewReport(t.results)); err != nil {
			return err
		}
	}
	if t.json {
		return t.printReport()
	}
	var retransmits, spurious uint64
	told := true
	for i := range t.results {
		r := &t.results[i]
		retransmits += r.Retransmits
		if told = told && r.Spurious != nil; told {
			spurious += *r.Spurious
		}
	}
	notes := ""
	switch {
	case retransmits > 0 && told:
		notes += fmt.Sprintf(" retransmitted packets: %d (%d were not lost, only late)\n", retransmits, spurious)
	case retransmits > 0:
		notes += fmt.Sprintf(" retransmitted packets: %d\n", retransmits)
	}
	last := &t.results[len(t.results)-1]
	if v := last.Verified; v != nil && *v {
		notes += " verified: the data of both sides is the same\n"
	}
	if last.Interrupted {
		notes += " interrupted: what was measured until then\n"
	}
	_, err := io.WriteString(t.w, notes)
	return err
}

// close closes the file.
func (t *perfTable) close() {
	if t.file != nil {
		_ = t.file.Close() // what could not be written, finish has told
	}
}

// resultEvent is the report as the last event of a test.
type resultEvent struct {
	Event string `json:"event"` // result
	perf.Report
}

func (t *perfTable) printReport() error {
	report := perf.NewReport(t.results)
	if t.events {
		return cli.PrintEvent(t.w, resultEvent{"result", report})
	}
	return cli.PrintJSON(t.w, report)
}

// perfProgress shows, on a terminal only, that a long test goes on.
type perfProgress struct {
	w     io.Writer // nil: shows nothing
	shown bool
}

func newPerfProgress(cmd *cobra.Command, json bool) *perfProgress {
	if json || !cli.IsTerminal(cmd.ErrOrStderr()) {
		return &perfProgress{}
	}
	return &perfProgress{w: cmd.ErrOrStderr()}
}

// show replaces the line.
func (p *perfProgress) show(at perf.Progress) {
	if p.w == nil {
		return
	}
	p.shown = true
	gbps := float64(at.Bytes) * 8 / at.Elapsed.Seconds() / 1e9
	fmt.Fprintf(p.w, "\r\x1b[K %.1f s  %d operations  %.2f Gb/s", at.Elapsed.Seconds(), at.Operations, gbps)
}

// clear removes the line.
func (p *perfProgress) clear() {
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.shown = false
	}
}
