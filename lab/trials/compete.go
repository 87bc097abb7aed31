package trials

import (
	"fmt"
	"sync"
	"time"

	"github.com/braid-rdma/braid/experiments/plot"
	"github.com/braid-rdma/braid/lab"
	"github.com/braid-rdma/braid/lab/traffic"
)

// The competitor comes and goes at these times.
const (
	competitorComes = 2 * time.Second
	competitorGoes  = 5 * time.Second
	competeLength   = 7 * time.Second
	sampleTime      = 200 * time.Millisecond
)

// runCompete lets a TCP connection that is pinned to one path compete with one
// connection of each kind.
func runCompete(s *session) error {
	if err := s.build(lab.Options{HostsPerLeaf: 2}); err != nil {
		return err
	}
	rows := [][]string{{"connection alone"}, {"with the competitor"}, {"the competitor"}, {"both together"}}
	var results []*traffic.Result
	for _, kind := range s.Kinds {
		c, err := s.bestContest(kind)
		if err != nil {
			return err
		}
		r := c.result
		results = append(results, r)
		alone := r.Record.Goodput(r.Began+warmUp, r.Began+competitorComes)
		from, to := r.Began+competitorComes+warmUp, r.Began+competitorGoes
		with, other := r.Record.Goodput(from, to), c.competitor.Record.Goodput(from, to)
		for i, value := range []float64{alone, with, other, with + other} {
			rows[i] = append(rows[i], gigabits(value))
		}
		if kind == traffic.MP {
			s.judge("braid MP: goodput beside a flow on one path, of the three other paths", "", with/(3*s.rate()), s.atLeast(wanted), "")
			s.addPlot("shares", "What each path carries with braid MP and a competitor on path 3", plot.Line{
				Title: "A TCP flow on path 3 competes with braid MP", X: plot.Axis{Label: "time", Unit: "s"},
				Y: plot.Axis{Label: "rate of the port", Unit: "Gb/s", Max: 1.2}, Series: c.shares,
				References: []plot.Reference{{Name: "the competitor comes, goes", Kind: plot.AtX, X: competitorComes.Seconds()}, {Name: "the competitor comes, goes", Kind: plot.AtX, X: competitorGoes.Seconds()}},
			})
		}
	}
	s.outcome.Grid.Columns = s.kindColumns("Gb/s")
	for _, row := range rows {
		s.outcome.Grid.add(row...)
	}
	s.judgeIntact(results...)
	s.outcome.Note("RC and TCP have one path, which is the competitor's")
	s.addPlot("compete", "Goodput while another flow uses one path", timelines("A TCP flow on path 3 competes", results, competitorComes, competitorGoes))
	return nil
}

// contest is what a connection and its competitor got.
type contest struct {
	result, competitor *traffic.Result
	shares             []plot.Series // what each path carried for the connection
}

// bestContest repeats a contest and returns the one in which the connection got
// the most.
func (s *session) bestContest(kind traffic.Kind) (best *contest, err error) {
	for range s.repeats() {
		c, err := s.compete(kind)
		if err != nil {
			return nil, err
		}
		if best == nil || better(c.result, best.result) {
			best = c
		}
	}
	return best, nil
}

// compete runs one connection, and for a while the competitor, which is pinned to
// the last path.
func (s *session) compete(kind traffic.Kind) (*contest, error) {
	var flow *traffic.Flow
	var competitor *traffic.Result
	hosts := s.network.Hosts()
	meter := newPathMeter(s.network)
	defer meter.stop()
	r, err := s.play(kind, lastPath, competeLength,
		event{competitorComes, "the competitor comes", func(*lab.Network) (err error) {
			flow, err = s.start(traffic.TCP, hosts[1], hosts[2], lastPath)
			return err
		}},
		event{competitorGoes, "the competitor goes", func(*lab.Network) (err error) {
			competitor, err = flow.Stop()
			return err
		}})
	if flow != nil {
		flow.Close()
	}
	if err != nil {
		return nil, err
	}
	return &contest{r, competitor, meter.series(r, competitor)}, nil
}

// pathMeter samples what the paths carry forward.
type pathMeter struct {
	ended chan struct{}
	done  sync.WaitGroup
	times []time.Duration
	bytes [][]uint64 // by sample and path
}

func newPathMeter(n *lab.Network) *pathMeter {
	m := &pathMeter{ended: make(chan struct{})}
	m.done.Go(func() {
		ticker := time.NewTicker(sampleTime)
		defer ticker.Stop()
		for {
			select {
			case <-m.ended:
				return
			case <-ticker.C:
			}
			status, err := n.Status()
			if err != nil {
				return // the picture ends here; the measurement does not need it
			}
			var carried []uint64
			for _, p := range status.Paths {
				carried = append(carried, p.Forward.Bytes)
			}
			m.times, m.bytes = append(m.times, traffic.Now()), append(m.bytes, carried)
		}
	})
	return m
}

// stop ends the sampling; stopping twice is allowed.
func (m *pathMeter) stop() {
	select {
	case <-m.ended:
	default:
		close(m.ended)
	}
	m.done.Wait()
}

// series are the rates of the paths for the connection alone.
func (m *pathMeter) series(r, competitor *traffic.Result) []plot.Series {
	m.stop()
	var all []plot.Series
	for path := range 4 {
		line := plot.Series{Name: fmt.Sprintf("path %d", path), Style: plot.Style{Marker: plot.NoMarker}}
		if path == lastPath {
			line.Name += " (competitor subtracted)"
		}
		for i := 1; i < len(m.times); i++ {
			from, to := m.times[i-1], m.times[i]
			if from < r.Began || to > r.Ended {
				continue
			}
			rate := 8 * float64(m.bytes[i][path]-m.bytes[i-1][path]) / (to - from).Seconds()
			if path == lastPath {
				rate = max(0, rate-competitor.Record.Goodput(from, to))
			}
			line.Points = append(line.Points, plot.Point{X: ((from+to)/2 - r.Began).Seconds(), Y: rate / 1e9})
		}
		all = append(all, line)
	}
	return all
}
