package command

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/braid-rdma/braid/internal/demo"
)

// demoDisplay shows what happens while it does.
type demoDisplay interface{ show(e demo.Event) }

// lineInterval is the time between two lines of rates where lines stay.
const lineInterval = 500 * time.Millisecond

// demoLines prints plain lines, for files and pipes.
type demoLines struct {
	w    io.Writer
	next time.Duration // when the next line of rates is due
	// Rates are averaged over the events since the last line.
	sums  []float64
	count int
}

func (d *demoLines) show(e demo.Event) {
	if e.Kind != demo.PathRates {
		printDemoEvent(d.w, e)
		return
	}
	if d.sums == nil {
		d.sums = make([]float64, len(e.Gbps))
		d.next = lineInterval
	}
	for i, rate := range e.Gbps {
		d.sums[i] += rate
	}
	if d.count++; e.Since < d.next {
		return
	}
	var line strings.Builder
	total := 0.0
	for i := range d.sums {
		rate := d.sums[i] / float64(d.count)
		total += rate
		d.sums[i] = 0
		fmt.Fprintf(&line, "  path %d %5.2f", i, rate)
		if i == e.Cut {
			line.WriteString(" (cut)")
		}
	}
	fmt.Fprintf(d.w, "%6.1f s  %6.2f Gb/s:%s\n", e.Since.Seconds(), total, line.String())
	d.count, d.next = 0, e.Since+lineInterval
}

// demoScreen redraws a bar for each path in place, for terminals.
type demoScreen struct {
	w       io.Writer
	paths   int
	drawn   bool
	highest float64 // the rate of a full bar
}

// barWidth is that of a full bar.
const barWidth = 40

func (d *demoScreen) show(e demo.Event) {
	if e.Kind != demo.PathRates {
		// The event takes the place of the bars, which the next rates draw below it.
		d.erase()
		printDemoEvent(d.w, e)
		return
	}
	d.erase()
	d.drawn = true
	total := 0.0
	for _, rate := range e.Gbps {
		total += rate
		d.highest = max(d.highest, rate)
	}
	fmt.Fprintf(d.w, "%6.1f s  %6.2f Gb/s in all\n", e.Since.Seconds(), total)
	for i, rate := range e.Gbps {
		filled := 0
		if d.highest > 0 {
			filled = int(rate/d.highest*barWidth + 0.5)
		}
		note := ""
		if i == e.Cut {
			note = "  \x1b[31mcut\x1b[0m"
		}
		fmt.Fprintf(d.w, "  path %-3d %s%s %6.2f Gb/s%s\n", i,
			strings.Repeat("█", filled), strings.Repeat("·", barWidth-filled), rate, note)
	}
}

// erase removes the bars and leaves the cursor where they began.
func (d *demoScreen) erase() {
	if d.drawn {
		fmt.Fprintf(d.w, "\x1b[%dA\x1b[J", d.paths+1)
		d.drawn = false
	}
}

// printDemoEvent prints everything but rates.
func printDemoEvent(w io.Writer, e demo.Event) {
	switch e.Kind {
	case demo.Connected:
		fmt.Fprintln(w, "connected")
	case demo.Checked:
		verdict := "verified"
		if !e.Op.Verified {
			verdict = "WRONG"
		}
		fmt.Fprintf(w, "%-7s %8d operations, %s: %s\n", e.Op.Op, e.Op.Count, byteCount(e.Op.Bytes), verdict)
	case demo.StreamBegan:
		fmt.Fprintln(w, "stream of WRITEs begins; each chunk is checked at the other end")
	case demo.PathCut:
		fmt.Fprintf(w, "%6.1f s  path %d is cut, silently\n", e.Since.Seconds(), e.Path)
	case demo.PathRestored:
		fmt.Fprintf(w, "%6.1f s  path %d is restored\n", e.Since.Seconds(), e.Path)
	case demo.PathRegained:
		fmt.Fprintf(w, "%6.1f s  path %d carries its share again\n", e.Since.Seconds(), e.Path)
	}
}

// byteCount is a number of bytes for people.
func byteCount(n uint64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	value, unit := float64(n), 0
	for value >= 1024 && unit < len(units)-1 {
		value /= 1024
		unit++
	}
	if unit == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", value, units[unit])
}

// printDemoSummary prints what the demonstration showed.
func printDemoSummary(w io.Writer, r *demo.Report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%-8s %12s %12s %12s %10s\n", "", "before", "cut", "restored", "lost")
	for _, p := range r.Paths {
		fmt.Fprintf(&b, "path %-3d %7.2f Gb/s %7.2f Gb/s %7.2f Gb/s %10d\n", p.Path, p.BeforeGbps, p.CutGbps, p.RestoredGbps, p.Lost)
	}
	s := &r.Stream
	fmt.Fprintf(&b, "%-8s %7.2f Gb/s %7.2f Gb/s %7.2f Gb/s %10d retransmitted, %d of them not lost, only late\n", "stream", s.BeforeGbps, s.CutGbps, s.RestoredGbps, r.Retransmits, r.Spurious)
	fmt.Fprintf(&b, "longest pause after path %d was cut: %.1f ms (%.1f ms with all paths)\n", r.Cut.Path, r.Cut.LongestStallMillis, s.LongestPauseMillis)
	if r.Restored.Millis != nil {
		fmt.Fprintf(&b, "path %d carried its share again %.1f ms after it was restored\n", r.Restored.Path, *r.Restored.Millis)
	} else {
		fmt.Fprintf(&b, "path %d did not carry its share again while the stream lasted\n", r.Restored.Path)
	}
	for _, failure := range r.Failures {
		fmt.Fprintf(&b, "WRONG: %s\n", failure)
	}
	if r.Verified {
		fmt.Fprintf(&b, "verified: %s moved, every byte compared, nothing lost\n", byteCount(r.Bytes))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
