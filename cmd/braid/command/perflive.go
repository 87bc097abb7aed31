package command

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/braid-rdma/braid/cmd/braid/internal/cli"
	"github.com/braid-rdma/braid/internal/perf"
)

// perfDisplay shows how far a test is while it runs.
type perfDisplay interface {
	show(at perf.Progress)
	// clear is called when the test has ended, before its result is printed.
	clear()
}

// newPerfDisplay prints a line for each interval, if there is one; else it shows to people
// that a long test goes on.
func newPerfDisplay(cmd *cobra.Command, interval time.Duration, json bool) perfDisplay {
	if interval > 0 {
		return &perfLive{w: cmd.OutOrStdout(), json: json}
	}
	return newPerfProgress(cmd, json)
}

// livePaths are the paths that a line has columns for: as many as fit beside the rest. Of
// more paths it has the busiest.
const livePaths = 8

const (
	liveHeader = " interval[sec]      goodput[Gb/sec]    retransmits    marks       goodput by path[Gb/sec]"
	liveRow    = " %-18s %-18.2f %-14d %-11d %s\n"
)

// perfLive prints a line for each interval, or an event. What cannot be printed is lost: the
// result, which is printed last, says so.
type perfLive struct {
	w    io.Writer
	json bool
	last perf.Progress
}

func (l *perfLive) show(at perf.Progress) {
	interval := at.Since(&l.last)
	first := l.last.Elapsed == 0
	l.last = at
	if l.json {
		_ = cli.PrintEvent(l.w, interval)
		return
	}
	if first {
		fmt.Fprintln(l.w, liveHeader)
	}
	span := fmt.Sprintf("%.2f-%.2f", interval.Start, interval.End)
	row := fmt.Sprintf(liveRow, span, interval.GoodputGbps, interval.Retransmits, interval.Marked, pathColumns(interval.Paths))
	fmt.Fprintln(l.w, strings.TrimRight(row, " \n"))
}

func (l *perfLive) clear() { l.last = perf.Progress{} }

// pathColumns are the goodputs of paths. Few of them stay in their columns; of many, the
// busiest come first, and the rest is summed.
func pathColumns(paths []perf.PathRate) string {
	rest := 0.0
	others := len(paths) - livePaths
	if others > 0 {
		paths = slices.Clone(paths)
		slices.SortStableFunc(paths, func(a, b perf.PathRate) int { return cmp.Compare(b.GoodputGbps, a.GoodputGbps) })
		for _, p := range paths[livePaths:] {
			rest += p.GoodputGbps
		}
		paths = paths[:livePaths]
	}
	var columns strings.Builder
	for _, p := range paths {
		fmt.Fprintf(&columns, "%4d: %-6.2f", p.Path, p.GoodputGbps)
	}
	if others > 0 {
		fmt.Fprintf(&columns, "  %d others: %.2f", others, rest)
	}
	return columns.String()
}
