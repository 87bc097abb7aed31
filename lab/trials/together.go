package trials

import (
	"fmt"
	"time"

	"github.com/braid-rdma/braid/lab/traffic"
)

// together runs several flows of a kind, each of which starts an interval after
// the last, and lets them run for a time once all are there.
func (s *session) together(kind traffic.Kind, pairs [][2]string, interval, length time.Duration) ([]*traffic.Result, error) {
	var flows []*traffic.Flow
	defer func() {
		for _, f := range flows {
			f.Close()
		}
	}()
	for i, pair := range pairs {
		if i > 0 {
			if err := s.wait(interval); err != nil {
				return nil, err
			}
		}
		f, err := s.start(kind, pair[0], pair[1], anyPath)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", kind.Title(), err)
		}
		flows = append(flows, f)
	}
	s.Progress(fmt.Sprintf("%s: %d flows", kind.Title(), len(flows)))
	if err := s.wait(length); err != nil {
		return nil, err
	}
	var results []*traffic.Result
	for _, f := range flows {
		r, err := f.Stop()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", kind.Title(), err)
		}
		results = append(results, r)
	}
	return results, nil
}

// common is the time, after the warm-up, during which all flows ran.
func common(results []*traffic.Result) (from, to time.Duration) {
	from, to = results[0].Began, results[0].Ended
	for _, r := range results {
		from, to = max(from, r.Began), min(to, r.Ended)
	}
	return from + warmUp, to
}

// shares are the goodputs of flows during a time, and their sum.
func shares(results []*traffic.Result, from, to time.Duration) (each []float64, sum float64) {
	for _, r := range results {
		rate := r.Record.Goodput(from, to)
		each, sum = append(each, rate), sum+rate
	}
	return each, sum
}

// bestTogether repeats together and returns the run with the highest sum.
func (s *session) bestTogether(kind traffic.Kind, pairs [][2]string, length time.Duration) (best []*traffic.Result, err error) {
	most := -1.0
	for range s.repeats() {
		results, err := s.together(kind, pairs, 0, length)
		if err != nil {
			return nil, err
		}
		from, to := common(results)
		if _, sum := shares(results, from, to); sum > most {
			best, most = results, sum
		}
	}
	return best, nil
}
