package trials

import (
	"fmt"
	"slices"
	"time"

	"github.com/braid-rdma/braid/experiments/plot"
	"github.com/braid-rdma/braid/internal/statistics"
	"github.com/braid-rdma/braid/lab/traffic"
)

// Data Partition §IV sends 10 MB over equal paths on which others send too, and varies the
// number of queue pairs and the size of chunks. The paths are chosen by the hash of the source
// port, so each connection has luck of its own: the median of several is shown. A queue pair has
// one chunk at a time, as in algorithm 1.
const (
	partitionPaths = 4
	partitionSize  = 10 << 20
	// partitionShort is for the quick form: one queue pair on the busy path gets a tenth of it, or less.
	partitionShort = 3 << 20
)

func (s *session) partitionSize() int {
	if s.Quick {
		return partitionShort
	}
	return partitionSize
}

func (s *session) partitionGrid() (chunks, queuePairs []int, connections int) {
	if s.Quick {
		return []int{32 << 10}, []int{1, 8}, 2 // of four, one in five connections has all on the busy path and one other
	}
	return []int{8 << 10, 32 << 10, 64 << 10, 128 << 10}, []int{1, 2, 3, 4, 5, 8}, 7
}

// runPartition measures the trends of Data Partition's figures 7 to 12.
func runPartition(s *session) error {
	if err := s.buildSlow(partitionPaths); err != nil {
		return err
	}
	background, err := s.startFlow(traffic.Spec{Kind: traffic.RC}, 1, 3, partitionPaths)
	if err != nil {
		return err
	}
	defer background.Close()
	if err := s.wait(warmUp); err != nil {
		return err
	}
	chunks, queuePairs, connections := s.partitionGrid()
	s.outcome.Grid.Columns = []string{"queue pairs"}
	chart := plot.Line{
		Title: fmt.Sprintf("%d MiB over four paths, one of them busy", s.partitionSize()>>20), X: plot.Axis{Label: "queue pairs"},
		Y: plot.Axis{Label: "transfer time, median", Unit: "s"},
	}
	rows := make([][]string, len(queuePairs))
	for i, n := range queuePairs {
		rows[i] = []string{fmt.Sprint(n)}
	}
	for _, chunk := range chunks {
		name := fmt.Sprintf("chunks of %d KiB", chunk>>10)
		series := plot.Series{Name: name}
		for i, n := range queuePairs {
			median, low, high, err := s.partition(n, chunk, connections)
			if err != nil {
				return fmt.Errorf("%d queue pairs, %s: %w", n, name, err)
			}
			s.Progress(fmt.Sprintf("%d queue pairs, %s: %.2f s", n, name, median))
			series.Points = append(series.Points, plot.Point{X: float64(n), Y: median})
			rows[i] = append(rows[i], fmt.Sprintf("%.2f (%.2f-%.2f)", median, low, high))
		}
		s.outcome.Grid.Columns = append(s.outcome.Grid.Columns, name+", s")
		chart.Series = append(chart.Series, series)
	}
	for _, row := range rows {
		s.outcome.Grid.add(row...)
	}
	first := chart.Series[min(1, len(chunks)-1)].Points // the paper's 32 KiB
	several := first[len(first)-1].Y
	s.judge(fmt.Sprintf("%d queue pairs: transfer time less than with one, per cent", queuePairs[len(first)-1]), "", 100*(1-several/first[0].Y), s.atLeast(15),
		"Data Partition: 81 % at most, with 16 queue pairs among 200 other flows")
	s.addPlot("partition", "Transfer time by queue pairs and chunk size (Data Partition figures 7 to 12)", chart)
	return nil
}

// partition transfers with several connections, one after the other, and returns the median
// time of a transfer in seconds, and that of the best and the worst connection.
func (s *session) partition(queuePairs, chunk, connections int) (median, low, high float64, err error) {
	var all []float64
	for range connections {
		took, err := s.transfer(queuePairs, chunk)
		if err != nil {
			return 0, 0, 0, err
		}
		all = append(all, took)
	}
	slices.Sort(all)
	return statistics.Quantile(all, 0.5), all[0], all[len(all)-1], nil
}

// transfer returns the mean time of the transfers of one connection.
func (s *session) transfer(queuePairs, chunk int) (float64, error) {
	const transfers = 2
	size := s.partitionSize()
	flow, err := s.startFlow(traffic.Spec{
		Kind: traffic.Bundle, Size: size, Depth: 1, Pause: time.Millisecond, QueuePairs: queuePairs, Chunk: chunk, Chunks: 1, Count: transfers,
	}, 0, 2, partitionPaths)
	if err != nil {
		return 0, err
	}
	// One queue pair that has to share the busy path may get a tenth of it, or less.
	for flow.Delivered() < uint64(transfers*size) && traffic.Now() < flow.Began+3*time.Minute {
		if err := s.wait(5 * time.Millisecond); err != nil {
			flow.Close()
			return 0, err
		}
	}
	r, err := flow.Stop()
	if err != nil {
		return 0, err
	}
	if r.Failure != "" || len(r.Times) < transfers {
		return 0, fmt.Errorf("%d transfers: %s", len(r.Times), r.Failure)
	}
	sum := 0.0
	for _, t := range r.Times {
		sum += t.Seconds()
	}
	return sum / float64(len(r.Times)), nil
}
