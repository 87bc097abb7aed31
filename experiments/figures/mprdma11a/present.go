package mprdma11a

import (
	"fmt"

	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/figures/testbed"
	"github.com/braid-rdma/braid/experiments/plot"
	"github.com/braid-rdma/braid/experiments/table"
)

// What the paper says in §5.1.1.
const (
	publishedMP      = 38   // "~38Gbps excluding header overhead", at every loss rate
	publishedLossy   = 10   // DCQCN on a lossy path at 0.5 %
	publishedAverage = 17.5 // DCQCN's average at 0.5 %
	publishedShare   = 0.25 // of MP-RDMA's goodput that DCQCN has beyond 0.5 %
)

func present(m means, migration []testbed.Sample) *figure.Outcome {
	o := &figure.Outcome{}
	o.Plots = append(o.Plots,
		figure.Plot{Name: "goodput", Title: "Goodput against loss on paths 1 to 3", Chart: goodputChart(m)},
		figure.Plot{Name: "migration", Title: "MP-RDMA leaves the lossy paths", Chart: migrationChart(migration)},
		figure.Plot{Name: "timeout", Title: "Sensitivity: DCQCN at 0.5 % loss and the NIC's timeout", Chart: timeoutChart(m)},
	)
	o.Data = append(o.Data, goodputData(m), timeoutData(m))
	o.Table = rows(m)
	o.Note("At 1,024 B the headers leave 36.0 Gb/s of a 40 Gb/s link to MP-RDMA and 37.0 Gb/s to DCQCN.")
	return o
}

func goodputChart(m means) plot.Chart {
	series := make([]plot.Series, 4)
	for i, name := range []string{"MP-RDMA", "MP-RDMA, braid's options", "DCQCN, average", "DCQCN on a lossy path"} {
		series[i].Name = name
	}
	for _, loss := range m.losses() {
		lossy := m.of(dcqcn, loss)
		for i, y := range []float64{m.of(paper, loss), m.of(braid, loss), m.average(loss, defaultAckTimeout), lossy} {
			series[i].Points = append(series[i].Points, plot.Point{X: 100 * loss, Y: y})
		}
	}
	return plot.Line{
		Title:  "Goodput against loss on paths 1 to 3",
		X:      plot.Axis{Label: "loss rate of paths 1 to 3", Unit: "%"},
		Y:      plot.Axis{Label: "goodput", Unit: "Gb/s", Max: 40},
		Series: series,
		References: []plot.Reference{
			{Name: "published, MP-RDMA", Kind: plot.AtY, Y: publishedMP},
			{Name: "published, DCQCN", Kind: plot.AtPoint, X: 100 * paperLoss, Y: publishedAverage},
			{Name: "published, DCQCN", Kind: plot.AtPoint, X: 100 * paperLoss, Y: publishedLossy},
		},
	}
}

func migrationChart(samples []testbed.Sample) plot.Chart {
	series := make([]plot.Series, 4)
	for _, s := range samples {
		for p, rate := range s.Paths {
			series[p].Name = fmt.Sprint("path ", p+1)
			series[p].Points = append(series[p].Points, plot.Point{X: s.At.Seconds() * 1e3, Y: rate})
		}
	}
	return plot.Line{
		Title:  "MP-RDMA leaves the paths that lose 1 %",
		X:      plot.Axis{Label: "time since the loss began", Unit: "ms"},
		Y:      plot.Axis{Label: "sent to the path", Unit: "Gb/s", Max: 40},
		Series: series,
	}
}

func timeoutChart(m means) plot.Chart {
	s := plot.Series{Name: "DCQCN, average"}
	for _, code := range m.ackTimeouts() {
		s.Points = append(s.Points, plot.Point{X: tr(code).Seconds() * 1e3, Y: m.average(paperLoss, code)})
	}
	return plot.Line{
		Title:      "DCQCN at 0.5 % loss and the NIC's timeout",
		X:          plot.Axis{Label: "local ACK timeout", Unit: "ms", Log: true},
		Y:          plot.Axis{Label: "average goodput", Unit: "Gb/s", Max: 40},
		Series:     []plot.Series{s},
		References: []plot.Reference{{Name: "published", Kind: plot.AtY, Y: publishedAverage}},
	}
}

func goodputData(m means) figure.Data {
	d := figure.Data{Name: "goodput", Columns: []string{"loss", "mp_rdma_gbps", "mp_rdma_braid_gbps", "dcqcn_average_gbps", "dcqcn_lossy_path_gbps"}}
	for _, loss := range m.losses() {
		d.Rows = append(d.Rows, []float64{loss, m.of(paper, loss), m.of(braid, loss), m.average(loss, defaultAckTimeout), m.of(dcqcn, loss)})
	}
	return d
}

func timeoutData(m means) figure.Data {
	d := figure.Data{Name: "timeout", Columns: []string{"ack_timeout_code", "ack_timeout_ms", "dcqcn_average_gbps"}}
	for _, code := range m.ackTimeouts() {
		d.Rows = append(d.Rows, []float64{float64(code), tr(code).Seconds() * 1e3, m.average(paperLoss, code)})
	}
	return d
}

// rows compares with the paper. The tolerances are those for throughput, 10 %;
// "near zero" is taken as a twentieth of the link.
func rows(m means) table.Table {
	const name = "MP-RDMA 11a"
	var t table.Table
	lossRates := m.losses()
	for _, loss := range []float64{paperLoss, 0.01, lossRates[len(lossRates)-1]} {
		if _, measured := m[point{paper, loss, defaultAckTimeout}]; !measured {
			continue
		}
		at := fmt.Sprintf(" at %g %% loss", 100*loss)
		t = append(t,
			table.Row{Figure: name, Quantity: "goodput of MP-RDMA" + at, Unit: "Gb/s", Published: publishedMP, Measured: m.of(paper, loss), Tolerance: table.Relative(0.1)},
			table.Row{Figure: name, Quantity: "goodput of MP-RDMA with braid's options" + at, Unit: "Gb/s", Published: publishedMP, Measured: m.of(braid, loss), Tolerance: table.Relative(0.1), Note: "not in the paper"})
	}
	t = append(t,
		table.Row{Figure: name, Quantity: "goodput of DCQCN on a lossy path at 0.5 % loss", Unit: "Gb/s", Published: publishedLossy, Measured: m.of(dcqcn, paperLoss), Tolerance: table.Relative(0.1), Note: "depends on the NIC's timeout, which the paper does not give"},
		table.Row{Figure: name, Quantity: "average goodput of DCQCN at 0.5 % loss", Unit: "Gb/s", Published: publishedAverage, Measured: m.average(paperLoss, defaultAckTimeout), Tolerance: table.Relative(0.1), Note: "depends on the NIC's timeout, which the paper does not give"})
	for _, loss := range lossRates {
		if loss <= paperLoss {
			continue
		}
		at := fmt.Sprintf(" at %g %% loss", 100*loss)
		t = append(t, table.Row{Figure: name, Quantity: "goodput of DCQCN over MP-RDMA" + at, Unit: "", Published: publishedShare, Measured: m.average(loss, defaultAckTimeout) / m.of(paper, loss), Tolerance: table.Relative(0.1)})
		if loss > 0.01 {
			t = append(t, table.Row{Figure: name, Quantity: "goodput of DCQCN on a lossy path" + at, Unit: "Gb/s", Published: table.NoNumber(), Measured: m.of(dcqcn, loss), Tolerance: table.AtMost(2), Note: `"near zero" in the paper`})
		}
	}
	return t
}
