// Package roceslowreceiver reproduces the slow receiver of "RDMA over commodity Ethernet at scale": a NIC whose cache of
// address translations is too small for the pages in use pauses its switch, and what large pages and dynamic buffers save.
package roceslowreceiver

import (
	_ "embed"
	"fmt"
	"slices"

	"github.com/braid-rdma/braid/experiments/experiment"
	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/figures/roce"
	"github.com/braid-rdma/braid/experiments/plot"
	"github.com/braid-rdma/braid/experiments/scenario"
	"github.com/braid-rdma/braid/experiments/table"
	"github.com/braid-rdma/braid/sim"
)

//go:embed scenario.yaml
var scenarioFile []byte

//go:embed README.md
var readme string

const (
	entries = 2048 // of the NIC's cache
	// static is what a class of a port may hold where 9 MB are divided by 28 ports and two classes, and 40 KB of each are headroom.
	static = 120_000
)

// Pages in bytes, memory in MB.
var (
	pages    = []int{4 << 10, 2 << 20}
	memories = []int{8, 16, 64, 1 << 10, 4 << 10, 8 << 10, 32 << 10}
)

const compared = 64 // MB of memory for which buffers are compared

// The measures.
const (
	goodput   = "goodput_gbps"
	nicPauses = "nic_pauses_per_s"
	spread    = "switch_pauses_per_s"
	victims   = "worst_neighbour_gbps"
)

// Figure is the reproduction.
func Figure() *figure.Figure {
	e := &experiment.Experiment{
		Name: "roce-slow-receiver", Title: "Slow receiver: the NIC's translation cache misses",
		Paper: roce.Paper, Section: "§4.4",
		README: readme, Scenario: scenarioFile,
		Measures: []experiment.Measure{
			{Name: goodput, Of: func(r *experiment.Reading) float64 { return r.Goodputs[0] + r.Goodputs[1] + r.Goodputs[2] }},
			{Name: nicPauses, Of: func(r *experiment.Reading) float64 { return perSecond(r, nicPaused(r)) }},
			{Name: spread, Of: func(r *experiment.Reading) float64 { return perSecond(r, r.Pauses()-nicPaused(r)) }},
			{Name: victims, Of: worstNeighbour},
		},
	}
	for _, page := range pages {
		for _, memory := range memories {
			e.Cases = append(e.Cases, newCase(name(page, memory), page, memory, 0))
		}
		e.Cases = append(e.Cases, newCase(staticName(page), page, compared, static))
	}
	small, large := name(pages[0], compared), name(pages[1], compared)
	e.Rows = []experiment.Row{
		roce.Row("pauses of the NIC, "+small, "1/s", table.NoNumber(), table.AtLeast(1000), experiment.Mean(small, nicPauses)),
		roce.Row("pauses of the NIC, "+large, "1/s", table.NoNumber(), table.AtMost(0), experiment.Mean(large, nicPauses)),
		roce.Row("pauses of the NIC, "+name(pages[0], 8), "1/s", table.NoNumber(), table.AtMost(0), experiment.Mean(name(pages[0], 8), nicPauses)),
		roce.Row("goodput of the slow server, "+large+" to 4 KB", "", table.NoNumber(), table.AtLeast(1.5), experiment.Ratio(goodput, large, small)),
		roce.Row("pauses of switches, dynamic to static buffers", "", table.NoNumber(), table.AtMost(0.5), experiment.Ratio(spread, small, staticName(pages[0]))),
		roce.Row("least that a neighbour gets in 1 ms, dynamic buffers", "of 4 Gb/s", table.NoNumber(), table.AtLeast(3), experiment.Least(small, victims)),
		roce.Row("least that a neighbour gets in 1 ms, static buffers", "of 4 Gb/s", table.NoNumber(), table.AtMost(2), experiment.Least(staticName(pages[0]), victims)),
	}
	memory := plot.Axis{Label: "memory in use", Unit: "MB", Log: true, Base2: true}
	e.Plots = []experiment.Plot{
		{Name: "pauses", Title: "Pauses of the NIC", Draw: byMemory(nicPauses, "Pauses that the server's NIC sends", memory, plot.Axis{Label: "pauses", Unit: "1/s"})},
		{Name: "goodput", Title: "Goodput of the server", Draw: byMemory(goodput, "Goodput of the server", memory, plot.Axis{Label: "goodput", Unit: "Gb/s", Max: 25})},
		{Name: "spread", Title: "Pauses of switches", Draw: buffers("Pauses that switches send, 64 MB in use", plot.Axis{Label: "pauses", Unit: "1/s"}).Bars(spread)},
		{Name: "neighbours", Title: "Neighbours", Draw: buffers("Least that a neighbour gets in 1 ms, of 4 Gb/s", plot.Axis{Label: "goodput", Unit: "Gb/s", Max: 5}).Bars(victims)},
	}
	return e.Figure()
}

func pageName(page int) string {
	if page >= 1<<20 {
		return fmt.Sprintf("%d MB pages", page>>20)
	}
	return fmt.Sprintf("%d KB pages", page>>10)
}

func name(page, memory int) string { return fmt.Sprintf("%s, %d MB", pageName(page), memory) }

func staticName(page int) string { return name(page, compared) + ", static buffers" }

func newCase(name string, page, memory int, xoff scenario.Bytes) experiment.Case {
	return experiment.Case{
		Name: name, For: 20 * sim.Millisecond, Quick: 6 * sim.Millisecond, Bin: sim.Millisecond, Seeds: 3,
		Change: func(s *scenario.Scenario) {
			s.Fabric.PFC.XOFF = xoff
			if share := missShare(page, memory); share > 0 {
				s.Receivers = []*scenario.Receiver{{Host: 0, Rate: roce.DrainRate(share)}}
			}
		},
	}
}

// missShare is how many of the packets, which go to random pages, need an entry that the cache does not hold.
func missShare(page, memory int) float64 {
	return roce.MissShare(entries, float64(memory<<20)/float64(page))
}

// nicPaused is how many pauses h0's ToR received from it.
func nicPaused(r *experiment.Reading) float64 { return float64(r.Link("leaf0", "h0").Pauses) }

// worstNeighbour is the least that one of the three other connections got in an interval.
func worstNeighbour(r *experiment.Reading) float64 {
	least := r.Bins[0].Flows[3]
	for _, b := range r.Bins {
		least = min(least, slices.Min(b.Flows[3:]))
	}
	return least
}

func perSecond(r *experiment.Reading, n float64) float64 { return n / (r.To - r.From).Seconds() }

// byMemory draws a measure over the memory in use, a line for each size of pages.
func byMemory(measure, title string, x, y plot.Axis) func(experiment.Results) experiment.Chart {
	s := experiment.Sweep{Title: title, X: x, Y: y}
	for _, page := range pages {
		line := experiment.SweepLine{Name: pageName(page)}
		for _, memory := range memories {
			line.AddMean(float64(memory), name(page, memory), measure)
		}
		s.Lines = append(s.Lines, line)
	}
	return s.Draw
}

// buffers compares dynamic and static buffers.
func buffers(title string, y plot.Axis) experiment.Grouped {
	g := experiment.Grouped{
		Title: title, X: plot.Axis{Label: "pages"}, Y: y,
		Series: []experiment.GroupedSeries{{Name: "dynamic buffers"}, {Name: "static buffers"}},
	}
	for _, page := range pages {
		g.Groups = append(g.Groups, pageName(page))
		g.Series[0].Cases = append(g.Series[0].Cases, name(page, compared))
		g.Series[1].Cases = append(g.Series[1].Cases, staticName(page))
	}
	return g
}
