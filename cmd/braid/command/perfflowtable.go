package command

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/braid-rdma/braid/internal/perf"
)

const (
	flowHeader = " size            #flows     goodput[Gb/sec]    FCT t_avg[usec]    t_50%[usec]    t_99%[usec]    t_99.9%[usec]"
	flowRow    = " %-15s %-10d %-18.2f %-18.2f %-14.2f %-14.2f %.2f\n"
)

// flowEvent is the result of a model of flows as the last event.
type flowEvent struct {
	Event string `json:"event"` // result
	perf.FlowResult
}

// printFlows prints what became of a model of flows, by size.
func printFlows(w io.Writer, r *perf.FlowResult) error {
	rule := strings.Repeat("-", len(flowHeader))
	var text strings.Builder
	fmt.Fprintf(&text, "%s\n %s\n %s\n%s\n%s\n", rule, flowTitle(r), flowConnection(r), rule, flowHeader)
	for i := range r.Classes {
		c := &r.Classes[i]
		name := "up to " + decimal(c.UpTo)
		if c.UpTo == 0 {
			name = "above " + decimal(c.Above)
		}
		writeFlowRow(&text, name, c)
	}
	writeFlowRow(&text, "all", &r.All)
	writeFlowNotes(&text, r)
	_, err := io.WriteString(w, text.String())
	return err
}

func writeFlowRow(text *strings.Builder, name string, c *perf.FlowClass) {
	t := c.CompletionMicros
	fmt.Fprintf(text, flowRow, name, c.Flows, c.GoodputGbps, t.Avg, t.P50, t.P99, t.P999)
}

// flowTitle says what flows there were.
func flowTitle(r *perf.FlowResult) string {
	way := "to"
	switch {
	case r.AllToAll:
		way = "between each two of"
	case r.Op == perf.Read:
		way = "from"
	}
	title := fmt.Sprintf("flows of %s %s %d host(s): %s loop", r.Model, way, len(r.Servers), r.Loop)
	if r.Loop == "open" {
		title += fmt.Sprintf(", %.3g Gb/s offered", r.OfferedGbps)
	}
	if r.OffSeconds > 0 {
		title += fmt.Sprintf(", on for %g s and off for %g s", r.OnSeconds, r.OffSeconds)
	}
	return fmt.Sprintf("%s, up to %d at a time with each host, seed %d", title, r.Depth, r.Seed)
}

// flowConnection says what carried them.
func flowConnection(r *perf.FlowResult) string {
	connection := fmt.Sprintf("%s, MTU %d", strings.ToUpper(r.QP), r.MTU)
	if r.QP == "mp" {
		connection += fmt.Sprintf(", %d paths, policy %s", r.Paths, r.Policy)
	}
	return connection + ", congestion control " + r.CC
}

// writeFlowNotes adds what belongs below the rows.
func writeFlowNotes(text *strings.Builder, r *perf.FlowResult) {
	if r.AllToAll {
		writePairs(text, r)
	} else if len(r.Servers) > 1 {
		for _, s := range r.Servers {
			fmt.Fprintf(text, " %s: %d flows, %.2f Gb/sec\n", s.Address, s.Flows, s.GoodputGbps)
		}
	}
	if r.Unfinished+r.Waiting+r.TurnedAway > 0 {
		fmt.Fprintf(text, " flows that did not arrive: %d cut off on their way, %d that waited, %d too many to wait\n", r.Unfinished, r.Waiting, r.TurnedAway)
	}
	switch {
	case r.Retransmits > 0 && r.Spurious != nil:
		fmt.Fprintf(text, " retransmitted packets: %d (%d were not lost, only late)\n", r.Retransmits, *r.Spurious)
	case r.Retransmits > 0:
		fmt.Fprintf(text, " retransmitted packets: %d\n", r.Retransmits)
	}
	if len(r.AtLimit) > 0 {
		fmt.Fprintf(text, " sent what its --flows-rate allows: %s\n", strings.Join(r.AtLimit, ", "))
	}
	if len(r.Missing) > 0 {
		fmt.Fprintf(text, " no report in time from %s\n", strings.Join(r.Missing, ", "))
	}
	if r.Interrupted {
		text.WriteString(" interrupted: what was measured until then\n")
	}
}

// shownPairs are the pairs that are printed, of ten hosts. Of more it is the slowest that tell something.
const shownPairs = 90

// writePairs adds what went from host to host.
func writePairs(text *strings.Builder, r *perf.FlowResult) {
	pairs := r.Pairs
	width := len("from")
	for _, s := range r.Servers {
		width = max(width, len(s.Address))
	}
	if len(pairs) > shownPairs {
		pairs = slices.Clone(pairs)
		slices.SortStableFunc(pairs, func(a, b perf.FlowPair) int { return cmp.Compare(a.GoodputGbps, b.GoodputGbps) })
		pairs = pairs[:shownPairs]
		fmt.Fprintf(text, " the slowest %d of %d pairs, of which --json has all:\n", shownPairs, len(r.Pairs))
	}
	fmt.Fprintf(text, " %-*s  %-*s  #flows     goodput[Gb/sec]    FCT t_avg[usec]    t_50%%[usec]    t_99%%[usec]\n", width, "from", width, "to")
	for _, p := range pairs {
		t := p.CompletionMicros
		fmt.Fprintf(text, " %-*s  %-*s  %-10d %-18.2f %-18.2f %-14.2f %.2f\n", width, p.From, width, p.To, p.Flows, p.GoodputGbps, t.Avg, t.P50, t.P99)
	}
	for _, s := range r.Servers {
		fmt.Fprintf(text, " %-*s  received %d flows, %.2f Gb/sec\n", width, s.Address, s.Flows, s.GoodputGbps)
	}
}

// decimal is a size in powers of ten, as the classes of flows are.
func decimal(bytes int64) string {
	for _, unit := range []struct {
		name  string
		bytes int64
	}{{"MB", 1e6}, {"KB", 1e3}} {
		if bytes >= unit.bytes {
			return fmt.Sprintf("%d %s", bytes/unit.bytes, unit.name)
		}
	}
	return fmt.Sprintf("%d B", bytes)
}
