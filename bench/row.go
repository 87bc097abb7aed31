package main

import "errors"

// A row is one line of the report: the best that a contestant reached, and how
// that stands to the reference and to the target.
type row struct {
	Part     part     `json:"part"`
	Group    string   `json:"group"`
	Name     string   `json:"name"`
	Metric   string   `json:"metric"`
	Unit     string   `json:"unit"`
	Best     float64  `json:"best"` // 0: no round succeeded
	P99      float64  `json:"p99_us,omitempty"`
	Samples  []sample `json:"samples"`
	Failures int      `json:"failures"`
	Problem  string   `json:"problem,omitempty"` // the last failure, or why it was skipped
	Skipped  bool     `json:"skipped,omitempty"`

	Reference string   `json:"reference,omitempty"`
	Ratio     *float64 `json:"ratio,omitempty"`
	// SameResults tells whether two runs of one scenario came to the same end.
	SameResults *bool `json:"same_results,omitempty"`
	// Published is where a figure comes from that was not measured in this run.
	Published string `json:"published,omitempty"`
	Claim     *claim `json:"claim,omitempty"`

	// Target is a bound for Ratio or for Best; whether it is an upper or a
	// lower bound follows from AtMost. Met is absent when there is a target
	// and nothing to compare it with.
	Target        *float64 `json:"target,omitempty"`
	TargetIsRatio bool     `json:"target_is_ratio,omitempty"`
	AtMost        bool     `json:"at_most,omitempty"`
	Met           *bool    `json:"met,omitempty"`

	ours    bool
	differs bool // a round came to other results than one before it
	best    sample
}

// note takes in the outcome of one round.
func (r *row) note(m metric, s sample, err error) {
	if err != nil {
		r.Problem = err.Error()
		r.Skipped = errors.Is(err, errSkipped)
		r.differs = r.differs || errors.Is(err, errDiffers)
		if !r.Skipped {
			r.Failures++
		}
		return
	}
	if len(r.Samples) == 0 || m.counts(s, r.best) {
		r.best = s
		r.Best = m.value(s)
		r.P99 = s.P99Micros
	}
	r.Samples = append(r.Samples, s)
}

// compare computes the ratio to the reference and judges the target, as far as
// both were measured.
func (r *row) compare(m metric, reference *row, t *target) {
	measured := len(r.Samples) > 0
	if r != reference {
		r.Reference = reference.Name
		if measured && len(reference.Samples) > 0 {
			ratio := r.Best / reference.Best
			r.Ratio = &ratio
			r.SameResults = sameResults(r.best.Simulation, reference.best.Simulation)
		}
	}
	if t == nil {
		return
	}
	r.Target = &t.bound
	r.TargetIsRatio = t.ofReference
	r.AtMost = m.lowerIsBetter
	judged := r.Best
	if t.ofReference {
		if r.Ratio == nil {
			return
		}
		judged = *r.Ratio
	}
	if !measured {
		return
	}
	met := judged >= t.bound
	if r.AtMost {
		met = judged <= t.bound
	}
	r.Met = &met
}
