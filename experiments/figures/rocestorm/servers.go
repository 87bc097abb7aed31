package rocestorm

import (
	"github.com/braid-rdma/braid/experiments/experiment"
	"github.com/braid-rdma/braid/experiments/plot"
	"github.com/braid-rdma/braid/experiments/table"
	"github.com/braid-rdma/braid/sim"
)

// tiers are the healthy servers by how far they are from the broken one.
var tiers = []struct {
	name     string
	from, to int // hosts
}{{"same ToR", 1, 2}, {"same podset", 2, 4}, {"other podsets", 4, 16}}

const healthy = 15

// stopped is how many of some servers have got nothing through in a bin.
func stopped(r *experiment.Reading, number, from, to int) (servers float64) {
	sent := make([]float64, to)
	for i := range r.Flows {
		if f := &r.Flows[i]; f.Src < to {
			sent[f.Src] += r.Bins[number].Flows[i]
		}
	}
	for _, rate := range sent[from:] {
		if rate == 0 {
			servers++
		}
	}
	return servers
}

// worst is the most healthy servers that are stopped at a time, and when they first are.
func worst(r *experiment.Reading) (servers float64, at sim.Time) {
	for i, b := range r.Bins {
		if n := stopped(r, i, 1, healthy+1); n > servers {
			servers, at = n, b.End
		}
	}
	return servers, at
}

// firstStop is when the first healthy server is stopped.
func firstStop(r *experiment.Reading) sim.Time {
	for i, b := range r.Bins {
		if stopped(r, i, 1, healthy+1) > 0 {
			return b.End
		}
	}
	return 0
}

// stoppedTime is for how many milliseconds a healthy server is stopped, on average.
func stoppedTime(r *experiment.Reading) (ms float64) {
	for i := range r.Bins {
		ms += stopped(r, i, 1, healthy+1) / healthy * bin.Seconds() * 1000
	}
	return ms
}

// since is how many milliseconds after the NIC broke something was; NaN if it never was.
func since(at sim.Time) float64 {
	if at == 0 {
		return table.NoNumber()
	}
	return (at - broken).Seconds() * 1000
}

// line is an empty picture of shares of servers.
func line(title string) plot.Line {
	return plot.Line{
		Title: title, X: plot.Axis{Label: "time", Unit: "ms"}, Y: plot.Axis{Label: "share of servers", Max: 1},
		References: []plot.Reference{reference("NIC breaks", broken)},
	}
}

func reference(name string, at sim.Time) plot.Reference {
	return plot.Reference{Name: name, Kind: plot.AtX, X: at.Seconds() * 1000}
}

// share is the share of some servers that are stopped, up to an instant.
func share(name string, r *experiment.Reading, from, to int, until sim.Time) plot.Series {
	s := plot.Series{Name: name}
	for i, b := range r.Bins {
		if b.End <= until {
			s.Points = append(s.Points, plot.Point{X: b.End.Seconds() * 1000, Y: stopped(r, i, from, to) / float64(to-from)})
		}
	}
	return s
}

// spread draws how the storm reaches servers, by how far they are away.
func spread(r experiment.Results) experiment.Chart {
	readings := r.Of(storm)
	if len(readings) == 0 {
		return nil
	}
	l := line("Servers that get nothing through, without a watchdog")
	for _, tier := range tiers {
		l.Series = append(l.Series, share(tier.name, readings[0], tier.from, tier.to, 2*broken))
	}
	return l
}

// watchdogs draws for how long servers are stopped.
func watchdogs(r experiment.Results) experiment.Chart {
	l := line("Healthy servers that get nothing through")
	l.References = append(l.References, reference("after 100 ms", broken+nicWatchdog), reference("after 200 ms", broken+switchWatchdog))
	for _, name := range []string{storm, byNIC, bySwitch, lossy} {
		for _, reading := range r.Of(name) {
			l.Series = append(l.Series, share(name, reading, 1, healthy+1, reading.To))
		}
	}
	if len(l.Series) == 0 {
		return nil
	}
	return l
}
