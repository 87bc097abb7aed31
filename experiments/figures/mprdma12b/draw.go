package mprdma12b

import (
	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/plot"
)

func distributionPlot(results map[string]*goodputs) figure.Plot {
	chart := plot.CDF{
		Title: "MP-RDMA figure 12b: goodput of the connections",
		X:     plot.Axis{Label: "goodput", Unit: "Gb/s", Max: 40},
		Samples: []plot.Sample{
			{Name: "MP-RDMA", Values: results[caseMP].sorted, Style: plot.Style{Colour: plot.Blue}},
			{Name: "DCQCN", Values: results[caseAuthors].sorted, Style: plot.Style{Colour: plot.Vermilion}},
		},
		References: []plot.Reference{{Name: "published lowest of MP-RDMA", Kind: plot.AtX, X: publishedLowest}},
	}
	return figure.Plot{Name: "goodput", Title: chart.Title, Chart: chart}
}

// gainPlot shows how the gain depends on what the paper does not give.
func gainPlot(results map[string]*goodputs) figure.Plot {
	gain := func(mp, dcqcn string) float64 { return 100 * (results[mp].mean()/results[dcqcn].mean() - 1) }
	chart := plot.Bars{
		Title: "Gain over DCQCN, by its parameters and the place of the senders",
		X:     plot.Axis{Label: "parameters of DCQCN; senders"},
		Y:     plot.Axis{Label: "average goodput above DCQCN's", Unit: "%"},
		Groups: []string{
			"authors; 16 leaves", "dcqcn_paper; 16 leaves", "authors; scattered",
		},
		Series: []plot.BarSeries{{Name: "MP-RDMA", Values: []float64{
			gain(caseMP, caseAuthors), gain(caseMP, caseHPCCPaper), gain(caseScatteredMP, caseScatteredDCQCN),
		}}},
		References: []plot.Reference{{Name: "published: 34.78 %", Kind: plot.AtY, Y: 100 * (publishedGain - 1)}},
	}
	return figure.Plot{Name: "gain", Title: chart.Title, Chart: chart}
}

// timePlot shows how the lowest goodput depends on how long it is averaged.
func timePlot(results map[string]*goodputs) figure.Plot {
	chart := plot.Line{
		Title:      "Lowest goodput of a connection by the time measured (not given in the paper)",
		X:          plot.Axis{Label: "time after the warm-up", Unit: "ms"},
		Y:          plot.Axis{Label: "lowest goodput", Unit: "Gb/s", Max: 40},
		References: []plot.Reference{{Name: "published: 32.95 Gb/s", Kind: plot.AtY, Y: publishedLowest}},
	}
	for i, name := range []string{caseMP, caseAuthors} {
		s := plot.Series{Name: name, Style: plot.Style{Colour: []plot.Colour{plot.Blue, plot.Vermilion}[i]}}
		for ms, lowest := range results[name].lowestSoFar {
			s.Points = append(s.Points, plot.Point{X: float64(ms + 1), Y: lowest})
		}
		chart.Series = append(chart.Series, s)
	}
	return figure.Plot{Name: "measured-time", Title: chart.Title, Chart: chart}
}

// connectionData lists the goodput of each connection, lowest first.
func connectionData(cases []testCase, measured []*goodputs) figure.Data {
	d := figure.Data{Name: "connections"}
	for i := range measured[0].sorted {
		row := make([]float64, 0, len(cases))
		for _, g := range measured {
			row = append(row, g.sorted[i])
		}
		d.Rows = append(d.Rows, row)
	}
	for _, c := range cases {
		d.Columns = append(d.Columns, c.name+" (Gb/s)")
	}
	return d
}

func summaryData(cases []testCase, measured []*goodputs) figure.Data {
	d := figure.Data{Name: "summary", Columns: []string{
		"mean_gbps", "min_gbps", "p10_gbps", "median_gbps", "max_gbps", "below_15", "retransmitted", "pfc_pauses",
	}}
	for i, g := range measured {
		d.Labels = append(d.Labels, cases[i].name)
		d.Rows = append(d.Rows, []float64{
			g.mean(), g.lowest(), g.quantile(0.1), g.quantile(0.5), g.quantile(1),
			float64(g.below(unluckyBelow)), float64(g.retransmitted), float64(g.pauses),
		})
	}
	return d
}
