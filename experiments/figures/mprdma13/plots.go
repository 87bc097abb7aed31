package mprdma13

import (
	"fmt"
	"math"

	"github.com/braid-rdma/braid/experiments/experiment"
	"github.com/braid-rdma/braid/experiments/plot"
)

var (
	carrierColours = map[string]plot.Colour{mp: plot.Blue, dcqcn: plot.Vermilion}
	classColours   = map[string]plot.Colour{all.key: plot.Blue, large.key: plot.Vermilion, small.key: plot.Green}
)

func plots() (plots []experiment.Plot) {
	for _, c := range classes {
		// The mean slowdown of a class over the load is the paper's normalised completion time.
		s := experiment.Sweep{Title: "MP-RDMA figure 13: " + c.name, X: plot.Axis{Label: "load", Min: 0.1, Max: 0.9}, Y: plot.Axis{Label: "normalised completion time", Min: 1}}
		for _, carrier := range []string{mp, dcqcn} {
			line := experiment.SweepLine{Name: carrier, Style: plot.Style{Colour: carrierColours[carrier]}}
			for i := range loads {
				load := loads[len(loads)-1-i]
				line.AddMean(load, setting{carrier, load, 0, 0}.name(), c.slowdown())
			}
			s.Lines = append(s.Lines, line)
		}
		plots = append(plots, experiment.Plot{Name: "slowdown-" + c.key, Title: s.Title, Draw: s.Draw})
	}
	byArrivals := experiment.Sweep{
		Title: fmt.Sprintf("MP-RDMA's completion times to DCQCN's, 40 servers at load %v", longLoad),
		X:     plot.Axis{Label: "time for which flows arrive", Unit: "ms", Log: true}, Y: plot.Axis{Label: "ratio of means", Min: 0.5, Max: 1.3},
		References: []plot.Reference{{Name: "equal", Kind: plot.AtY, Y: 1}},
	}
	// How long DCQCN's queues must be for the published gain of small flows.
	const gains = "published for small flows, least and largest gain"
	byMarking := experiment.Sweep{
		Title: fmt.Sprintf("MP-RDMA's completion times to DCQCN's, 40 servers at load %v", sensitivityLoad),
		X:     plot.Axis{Label: "Kmin of DCQCN (Kmax is 25 times as much)", Unit: "KB", Log: true, Max: 300}, Y: plot.Axis{Label: "ratio of normalised completion times", Min: 0.5, Max: 1.3},
		References: []plot.Reference{{Name: gains, Kind: plot.AtY, Y: 1 - published[small.key].least}, {Name: gains, Kind: plot.AtY, Y: 1 - published[small.key].most}},
	}
	for _, c := range classes {
		colour := classColours[c.key]
		normalised := experiment.SweepLine{Name: c.name + ", normalised", Style: plot.Style{Colour: colour, Stroke: plot.Dashed}}
		mean := experiment.SweepLine{Name: c.name, Style: plot.Style{Colour: colour}}
		marked := experiment.SweepLine{Name: c.name, Style: plot.Style{Colour: colour}}
		for _, arrivals := range arrivalTimes {
			a, b := setting{mp, longLoad, arrivals, 0}, setting{dcqcn, longLoad, arrivals, 0}
			normalised.Add(arrivals.Seconds()*1e3, over(a, b, c.slowdown()))
			mean.Add(arrivals.Seconds()*1e3, over(a, b, c.mean()))
		}
		for _, factor := range markings {
			a, b := setting{mp, sensitivityLoad, markingArrivals, 0}, setting{dcqcn, sensitivityLoad, markingArrivals, factor}
			marked.Add(authorsKmin*factor/1000, over(a, b, c.slowdown()))
		}
		byArrivals.Lines, byMarking.Lines = append(byArrivals.Lines, normalised, mean), append(byMarking.Lines, marked)
	}
	return append(plots,
		experiment.Plot{Name: "carried", Title: "Small flows against what was carried while flows arrived", Draw: byCarried},
		experiment.Plot{Name: "parameters", Title: "MP-RDMA's mean completion time to DCQCN's, by parameters", Draw: byParameters},
		experiment.Plot{Name: "arrivals", Title: byArrivals.Title, Draw: byArrivals.Draw},
		experiment.Plot{Name: "marking", Title: "Marking of DCQCN", Draw: byMarking.Draw})
}

// byCarried draws what small flows pay for what all flows together get.
func byCarried(r experiment.Results) experiment.Chart {
	chart := plot.Line{
		Title: "Small flows against what was carried while flows arrived",
		X:     plot.Axis{Label: "payload carried, share of the servers' links"}, Y: plot.Axis{Label: "normalised completion time, flows < 100 KB", Min: 1},
	}
	for _, carrier := range []string{mp, dcqcn} {
		s := plot.Series{Name: carrier, Style: plot.Style{Colour: carrierColours[carrier]}}
		for _, w := range served(r, carrier) {
			s.Points = append(s.Points, plot.Point{X: w.carried, Y: w.slowdown})
		}
		chart.Series = append(chart.Series, s)
	}
	return chart
}

// byParameters shows what the parameters of the transports do.
func byParameters(r experiment.Results) experiment.Chart {
	chart := plot.Bars{
		Title: fmt.Sprintf("MP-RDMA's mean completion time to DCQCN's, by parameters, at load %v", sensitivityLoad),
		X:     plot.Axis{Label: "parameters of DCQCN"}, Y: plot.Axis{Label: "ratio of completion times"},
		Groups:     []string{"authors", "authors; IW 54", "HPCC's dcqcn", "HPCC's dcqcn_paper"},
		References: []plot.Reference{{Name: "equal", Kind: plot.AtY, Y: 1}},
	}
	for _, c := range classes {
		s := plot.BarSeries{Name: c.name}
		for _, pair := range [][2]string{{mp, dcqcn}, {mpSmallWindow, dcqcn}, {mp, dcqcnHPCC}, {mp, dcqcnHPCCPaper}} {
			s.Values = append(s.Values, over(setting{pair[0], sensitivityLoad, 0, 0}, setting{pair[1], sensitivityLoad, 0, 0}, c.mean())(r))
		}
		if math.IsNaN(s.Values[1]) {
			return nil
		}
		chart.Series = append(chart.Series, s)
	}
	return chart
}
