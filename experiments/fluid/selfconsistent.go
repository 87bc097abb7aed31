package fluid

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// SolveSelfConsistent is [Solve] with R* as the paper defines it, from the
// average queue of the very solution: it solves again with the average RTTs of
// the last round until none of them changes by a thousandth. Where the queue
// settles the first round is the last; under DCTCP marking, whose average lies
// well below the threshold, it takes a few. It replaces every FeedbackRTT, and
// fails with [ErrInconsistent] when the rounds do not end.
func SolveSelfConsistent(cfg Config) (*Result, error) {
	cfg.Links = slices.Clone(cfg.Links) // FeedbackRTT is set below
	for j := range cfg.Links {
		cfg.Links[j].FeedbackRTT = 0
	}
	for range maxRounds {
		result, err := Solve(cfg)
		if err != nil {
			return nil, err
		}
		change := 0.0
		for j, link := range result.Steady.Links {
			used := result.FeedbackRTTs[j]
			average := result.model.links[j].rtt(link.Queue)
			change = max(change, math.Abs(average-used)/used)
			cfg.Links[j].FeedbackRTT = max(cfg.Links[j].BaseRTT, time.Duration(average*float64(time.Second)))
		}
		if change < roundTolerance {
			return result, nil
		}
	}
	return nil, fmt.Errorf("%w after %d rounds", ErrInconsistent, maxRounds)
}
