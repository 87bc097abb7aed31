package trials

import (
	"fmt"
	"slices"
	"time"

	"github.com/braid-rdma/braid/internal/statistics"
	"github.com/braid-rdma/braid/lab"
	"github.com/braid-rdma/braid/lab/traffic"
)

const (
	// spreadRate is the sum of the paths, in b/s: little enough that the paths are the
	// limit on a machine of two processors, not the processors.
	spreadRate = 800_000_000
	// spreadRuns is how many connections are tried on each network: each has source
	// ports of its own, so that the kernel hashes each in another way.
	spreadRuns = 4
	// spreadWarmUp, for each path, is longer than that of other trials: the window grows by a
	// packet in a round trip, and the more paths share the rate, the longer are their queues.
	spreadWarmUp = 500 * time.Millisecond
	// leastShare is what the least used path carries at least, of an equal share. A
	// path that no source port leads to carries nothing.
	leastShare = 0.5
)

// runSpread measures connections with the defaults on networks with 4, 8 and 16
// paths, which the kernel chooses among by the hash of the source port.
func runSpread(s *session) error {
	s.outcome.Grid.Columns = []string{"paths", "worst run, Gb/s", "median, Gb/s", "best, Gb/s", "least used path, of an equal share"}
	var all []*traffic.Result
	for _, paths := range []int{4, 8, 16} {
		rate := int64(spreadRate / paths)
		// Queues as long, in bytes, as those of a path of 1 Gb/s: shorter than a packet or
		// two they would be marked whatever a sender does.
		slower := time.Duration(gigabit / rate)
		if err := s.build(lab.Options{HostsPerLeaf: 1, Spines: paths, Rate: rate, Delay: slower * 4 * time.Millisecond, Threshold: slower * time.Millisecond}); err != nil {
			return err
		}
		var rates []float64
		least := 1.0
		for range s.spreadRuns() {
			r, share, err := s.spread(paths)
			if err != nil {
				return err
			}
			all, rates, least = append(all, r), append(rates, r.Record.Goodput(r.Began+warmUpOf(paths), r.Ended)), min(least, share)
		}
		slices.Sort(rates)
		worst, median, best := rates[0], statistics.Quantile(rates, 0.5), rates[len(rates)-1]
		s.outcome.Grid.add(fmt.Sprint(paths), gigabits(worst), gigabits(median), gigabits(best), fmt.Sprintf("%.2f", least))
		s.judge(fmt.Sprintf("braid MP, defaults: goodput over %d paths, of their sum", paths), "", median/spreadRate, s.atLeast(wanted), "the median of several connections")
		s.judge(fmt.Sprintf("braid MP, defaults: the least used of %d paths in any run, of an equal share", paths), "", least, s.atLeast(leastShare), "")
	}
	s.judgeIntact(all...)
	return nil
}

func (s *session) spreadRuns() int {
	if s.Quick {
		return 1
	}
	return spreadRuns
}

func warmUpOf(paths int) time.Duration { return time.Duration(paths) * spreadWarmUp }

// spread runs one connection and returns also what the least used path carried
// forward, of an equal share.
func (s *session) spread(paths int) (*traffic.Result, float64, error) {
	before, err := s.carried()
	if err != nil {
		return nil, 0, err
	}
	r, err := s.play(traffic.MP, anyPath, warmUpOf(paths)+s.measuring())
	if err != nil {
		return nil, 0, err
	}
	after, err := s.carried()
	if err != nil {
		return nil, 0, err
	}
	sum := 0.0
	for i := range after {
		after[i] -= before[i]
		sum += after[i]
	}
	if sum == 0 {
		return r, 0, nil
	}
	return r, slices.Min(after) * float64(paths) / sum, nil
}

// carried are the bytes that each path has carried forward so far.
func (s *session) carried() (bytes []float64, err error) {
	status, err := s.network.Status()
	if err != nil {
		return nil, err
	}
	for _, p := range status.Paths {
		bytes = append(bytes, float64(p.Forward.Bytes))
	}
	return bytes, nil
}
