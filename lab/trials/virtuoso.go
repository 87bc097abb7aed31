package trials

import (
	"fmt"
	"slices"
	"time"

	"github.com/braid-rdma/braid/experiments/plot"
	"github.com/braid-rdma/braid/internal/statistics"
	"github.com/braid-rdma/braid/lab"
	"github.com/braid-rdma/braid/lab/traffic"
)

// Virtuoso's testbed (§4.2) at a tenth of its speed: 1 to 10 paths of 100 Mb/s behind
// interfaces that are as fast as all of them together, and switches that choose the path
// by address. Its flows of 10 MB to 100 GB are shorter here, since all flows that are much
// longer than a round trip look alike.
const (
	virtuosoRate = 100_000_000
	mebibyte     = 1 << 20
	// elephantSize is a message of the flow that is split.
	elephantSize = mebibyte
	// mouseSize and mousePause are those of §4.5, but that mice come more often.
	mouseSize  = 256 << 10
	mousePause = 200 * time.Millisecond
	// The elephant of §4.5 is "consistent background traffic": what fills one path to nine
	// tenths. (One that takes all it can get would fill ten paths as well as one.)
	backgroundSize     = 128 << 10
	backgroundInterval = backgroundSize * 8 * time.Second / (virtuosoRate / 10 * 9)
)

// virtuosoKinds are compared: many queue pairs, one multi-path queue pair, one
// single-path queue pair.
var virtuosoKinds = []traffic.Kind{traffic.Bundle, traffic.MP, traffic.RC}

// buildSlow builds a network of slow paths, whose queues and thresholds are as long in
// bytes as those of a path of 1 Gb/s.
func (s *session) buildSlow(paths int) error {
	const slower = time.Duration(gigabit / virtuosoRate)
	return s.build(lab.Options{
		HostsPerLeaf: 2, Spines: paths, Rate: virtuosoRate, Delay: slower * 4 * time.Millisecond, Threshold: slower * time.Millisecond,
	})
}

// startFlow starts a flow of a kind from one host to another. A bundle has a queue pair on
// each of the first paths; single-path traffic has the first.
func (s *session) startFlow(spec traffic.Spec, from, to, paths int) (*traffic.Flow, error) {
	hosts := s.network.Hosts()
	sender, err := s.network.Node(hosts[from])
	if err != nil {
		return nil, err
	}
	receiver, err := s.network.Node(hosts[to])
	if err != nil {
		return nil, err
	}
	source := sender.Addr
	if spec.Kind == traffic.RC {
		source = sender.Pinned[0]
	}
	if spec.Kind == traffic.Bundle && spec.QueuePairs == 0 {
		spec.QueuePairs, spec.Addresses = paths, receiver.Pinned[:paths]
	}
	spec.LineRate = virtuosoRate
	return s.runner.Start(spec, traffic.End{Host: sender.Name, Addr: source}, traffic.End{Host: receiver.Name, Addr: receiver.Addr})
}

// virtuosoSizes are the flow sizes in bytes, the largest last, and virtuosoPaths the
// numbers of paths.
func (s *session) virtuosoSizes() []uint64 {
	if s.Quick {
		return []uint64{4 * mebibyte}
	}
	return []uint64{mebibyte, 4 * mebibyte, 16 * mebibyte, 32 * mebibyte}
}

func (s *session) virtuosoPaths() []int {
	if s.Quick {
		return []int{1, 4}
	}
	return []int{1, 2, 4, 6, 8, 10}
}

func (s *session) virtuosoKinds() []traffic.Kind {
	if s.Quick {
		return []traffic.Kind{traffic.Bundle}
	}
	return virtuosoKinds
}

// completion is what one run says: the time in which flows of each size were complete, and
// the processor time of both ends.
type completion struct {
	times []time.Duration
	cost  float64 // s/GB
}

// runVirtuoso measures what Virtuoso's figures 5 to 8 do.
func runVirtuoso(s *session) error {
	sizes, counts, kinds := s.virtuosoSizes(), s.virtuosoPaths(), s.virtuosoKinds()
	all := map[traffic.Kind][]completion{} // by number of paths
	for _, paths := range counts {
		if err := s.buildSlow(paths); err != nil {
			return err
		}
		for _, kind := range kinds {
			c, err := s.complete(kind, paths, sizes)
			if err != nil {
				return err
			}
			s.Progress(fmt.Sprintf("%s, %d paths: %v", kind.Title(), paths, c.times))
			all[kind] = append(all[kind], c)
		}
	}
	s.outcome.Grid.Columns = append([]string{"figure", "quantity", "published"}, kindTitles(kinds)...)
	s.presentCompletions(all, sizes, counts, kinds)
	return s.mice(counts[len(counts)-1])
}

// complete runs a flow until the largest size has arrived, and returns the best of
// several runs.
func (s *session) complete(kind traffic.Kind, paths int, sizes []uint64) (best completion, err error) {
	for range s.repeats() {
		flow, err := s.startFlow(traffic.Spec{Kind: kind, Size: elephantSize, Depth: 8}, 0, 2, paths)
		if err != nil {
			return best, err
		}
		for flow.Delivered() < sizes[len(sizes)-1] && traffic.Now() < flow.Began+20*time.Second {
			if err := s.wait(20 * time.Millisecond); err != nil {
				return best, err
			}
		}
		r, err := flow.Stop()
		if err != nil {
			return best, err
		}
		if r.Failure != "" {
			return best, fmt.Errorf("%s: %s", kind.Title(), r.Failure)
		}
		c := completion{cost: processorCost(r)}
		for _, size := range sizes {
			took, ok := r.Record.Reached(r.Began, size)
			if !ok {
				return best, fmt.Errorf("%s: %d bytes did not arrive within 20 s", kind.Title(), size)
			}
			c.times = append(c.times, took)
		}
		if best.times == nil || c.times[len(sizes)-1] < best.times[len(sizes)-1] {
			best = c
		}
	}
	return best, nil
}

func kindTitles(kinds []traffic.Kind) []string {
	var titles []string
	for _, k := range kinds {
		titles = append(titles, k.Title())
	}
	return titles
}

// presentCompletions makes figures 5, 6 and 8 of the runs.
func (s *session) presentCompletions(all map[traffic.Kind][]completion, sizes []uint64, counts []int, kinds []traffic.Kind) {
	largest := len(sizes) - 1
	paths := plot.Axis{Label: "paths of 100 Mb/s"}
	figure5 := plot.Line{Title: fmt.Sprintf("A flow of %d MiB", sizes[largest]/mebibyte), X: paths, Y: plot.Axis{Label: "flow completion time", Unit: "s", Log: true}}
	figure8 := plot.Line{Title: "Processor time of both ends", X: paths, Y: plot.Axis{Label: "processor time", Unit: "s/GB"}}
	ideal := plot.Series{Name: "all paths in full use", Style: plot.Style{Stroke: plot.Dashed, Colour: plot.Ink, Marker: plot.NoMarker}}
	for _, n := range counts {
		ideal.Points = append(ideal.Points, plot.Point{X: float64(n), Y: 8 * float64(sizes[largest]) / virtuosoRate / float64(n)})
	}
	for _, kind := range kinds {
		var times, costs []plot.Point
		for i, n := range counts {
			times = append(times, plot.Point{X: float64(n), Y: all[kind][i].times[largest].Seconds()})
			costs = append(costs, plot.Point{X: float64(n), Y: all[kind][i].cost})
		}
		style := plot.Style{Colour: colours[kind]}
		figure5.Series = append(figure5.Series, plot.Series{Name: kind.Title(), Points: times, Style: style})
		figure8.Series = append(figure8.Series, plot.Series{Name: kind.Title(), Points: costs, Style: style})
	}
	figure5.Series = append(figure5.Series, ideal)
	figure6 := plot.Line{Title: "Flows of different size over braid bundle", X: paths, Y: figure5.Y}
	for k, size := range sizes {
		series := plot.Series{Name: fmt.Sprintf("%d MiB", size/mebibyte)}
		for i, n := range counts {
			series.Points = append(series.Points, plot.Point{X: float64(n), Y: all[traffic.Bundle][i].times[k].Seconds()})
		}
		figure6.Series = append(figure6.Series, series)
	}
	for i, n := range counts {
		for k, size := range sizes {
			row := []string{map[bool]string{true: "5, 6", false: "6"}[k == largest], fmt.Sprintf("%d MiB over %d paths, s", size/mebibyte, n), "falls with the paths"}
			for _, kind := range kinds {
				row = append(row, fmt.Sprintf("%.2f", all[kind][i].times[k].Seconds()))
			}
			s.outcome.Grid.add(row...)
		}
		row := []string{"8", fmt.Sprintf("processor time over %d paths, s/GB", n), "hardly grows for large flows"}
		for _, kind := range kinds {
			row = append(row, fmt.Sprintf("%.2f", all[kind][i].cost))
		}
		s.outcome.Grid.add(row...)
		if one := all[traffic.Bundle][0].times[largest]; n > 1 {
			gain := one.Seconds() / all[traffic.Bundle][i].times[largest].Seconds()
			s.judge(fmt.Sprintf("braid bundle: a flow over %d paths, times faster than over one", n), "", gain, s.atLeast(0.75*float64(n)), "Virtuoso figure 5")
		}
	}
	s.addPlot("virtuoso-5", "Flow completion time by the number of paths (Virtuoso figure 5)", figure5)
	s.addPlot("virtuoso-6", "Flow completion time by flow size (Virtuoso figure 6)", figure6)
	s.addPlot("virtuoso-8", "Processor time per gigabyte (Virtuoso figure 8)", figure8)
}

// mice measures figure 7: how long mice take on a path that an elephant has for itself, or
// of which it has a part.
func (s *session) mice(paths int) error {
	cases := []struct {
		name     string
		elephant *traffic.Spec
	}{
		{"no elephant", nil},
		{"elephant unsplit", &traffic.Spec{Kind: traffic.Bundle, QueuePairs: 1}},
		{"split, bundle", &traffic.Spec{Kind: traffic.Bundle}},
		{"split, MP", &traffic.Spec{Kind: traffic.MP}},
	}
	if s.Quick {
		cases = cases[1:3]
	}
	chart := plot.Bars{
		Title: "Mice of 256 KiB on one path", Y: plot.Axis{Label: "flow completion time, median", Unit: "ms"},
		Series: []plot.BarSeries{{Name: "mice", Colour: plot.Blue}},
	}
	medians := map[string]float64{}
	for _, c := range cases {
		times, err := s.miceBeside(c.elephant, paths)
		if err != nil {
			return fmt.Errorf("mice, %s: %w", c.name, err)
		}
		slices.Sort(times)
		median := float64(statistics.Quantile(times, 0.5)) / 1e6
		medians[c.name] = median
		chart.Groups = append(chart.Groups, c.name)
		s.values(&chart.Series[0], times, median)
		row := []string{"7", fmt.Sprintf("mice, %s: median of %d, ms", c.name, len(times)), "shorter where the elephant is split", fmt.Sprintf("%.1f", median)}
		s.outcome.Grid.add(append(row, slices.Repeat([]string{""}, len(s.outcome.Grid.Columns)-len(row))...)...)
	}
	s.judge("mice beside an elephant that is split, of their time beside one that is not", "",
		medians["split, bundle"]/medians["elephant unsplit"], s.atMost(0.9), "Virtuoso figure 7")
	s.addPlot("virtuoso-7", "Mice beside an elephant (Virtuoso figure 7)", chart)
	return nil
}

// values adds a bar with a whisker from the tenth to the ninetieth percentile.
func (s *session) values(series *plot.BarSeries, sorted []time.Duration, median float64) {
	at := func(part float64) float64 { return float64(sorted[int(part*float64(len(sorted)-1))]) / 1e6 }
	series.Values = append(series.Values, median)
	series.Low, series.High = append(series.Low, at(0.1)), append(series.High, at(0.9))
}

// miceBeside sends mice from one pair of hosts over the first path beside an elephant of
// another pair.
func (s *session) miceBeside(elephant *traffic.Spec, paths int) ([]time.Duration, error) {
	if elephant != nil {
		spec := *elephant
		spec.Size, spec.Depth, spec.Interval = backgroundSize, 64, backgroundInterval
		if spec.QueuePairs == 1 {
			receiver, err := s.network.Node(s.network.Hosts()[2])
			if err != nil {
				return nil, err
			}
			spec.Addresses = receiver.Pinned[:1]
		}
		flow, err := s.startFlow(spec, 0, 2, paths)
		if err != nil {
			return nil, err
		}
		defer flow.Close()
		if err := s.wait(warmUp); err != nil {
			return nil, err
		}
	}
	mice, err := s.startFlow(traffic.Spec{Kind: traffic.RC, Size: mouseSize, Depth: 1, Pause: mousePause}, 1, 3, paths)
	if err != nil {
		return nil, err
	}
	length := 8 * time.Second
	if s.Quick {
		length = 3 * time.Second
	}
	if err := s.wait(length); err != nil {
		mice.Close()
		return nil, err
	}
	r, err := mice.Stop()
	if err != nil {
		return nil, err
	}
	if r.Failure != "" || len(r.Times) == 0 {
		return nil, fmt.Errorf("%d mice: %s", len(r.Times), r.Failure)
	}
	return r.Times, nil
}
