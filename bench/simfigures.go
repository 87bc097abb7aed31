package main

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"slices"

	"github.com/braid-rdma/braid/internal/statistics"
	"github.com/braid-rdma/braid/sim"
)

// simFigures is what one run of a simulation was like, ours or a published one.
// What is not known is zero.
type simFigures struct {
	Scenario     string  `json:"scenario,omitempty"`
	Workers      int     `json:"workers,omitempty"`
	SetupSeconds float64 `json:"setup_s,omitempty"` // building the network and connecting the flows
	RunSeconds   float64 `json:"run_s,omitempty"`   // virtual time passing
	CPUSeconds   float64 `json:"cpu_s,omitempty"`   // of the whole process: on a busy machine less than has passed
	Hops         uint64  `json:"hops,omitempty"`    // packets times links that they crossed
	Events       uint64  `json:"events,omitempty"`
	DataPackets  uint64  `json:"data_packets,omitempty"`
	PeakBytes    int64   `json:"peak_bytes,omitempty"` // of the process's resident memory

	Flows            int     `json:"flows,omitempty"`
	Finished         int     `json:"finished,omitempty"`
	CompletionMicros spread  `json:"completion_us,omitzero"`
	SlowdownMean     float64 `json:"slowdown_mean,omitempty"`
	SlowdownP99      float64 `json:"slowdown_p99,omitempty"`

	// Digest is equal for equal results of all flows.
	Digest string `json:"digest,omitempty"`
}

// A spread is the least, the middle and the most of many values.
type spread struct {
	Min    float64 `json:"min"`
	Median float64 `json:"median"`
	Max    float64 `json:"max"`
}

// errUnfinished marks a simulation in which flows failed or did not end, whose
// speed means nothing.
var errUnfinished = errors.New("not every flow has finished")

// takeFlows sums up the results of all flows.
func (f *simFigures) takeFlows(results []sim.FlowResult) {
	var durations, slowdowns []float64
	digest := sha256.New()
	for i := range results {
		r := &results[i]
		addToDigest(digest, r)
		f.DataPackets += r.Packets
		if r.Done() {
			durations = append(durations, r.Duration().Microseconds())
			slowdowns = append(slowdowns, r.Slowdown())
		}
	}
	f.Flows, f.Finished = len(results), len(durations)
	f.Digest = hex.EncodeToString(digest.Sum(nil)[:8])
	if f.Finished == 0 {
		return
	}
	slices.Sort(durations)
	slices.Sort(slowdowns)
	f.CompletionMicros = spread{durations[0], statistics.Quantile(durations, 0.5), durations[len(durations)-1]}
	f.SlowdownP99 = statistics.Quantile(slowdowns, 0.99)
	f.SlowdownMean = statistics.Mean(slowdowns)
}

// requireFinished refuses results that a figure cannot be taken from.
func requireFinished(results []sim.FlowResult) error {
	for i := range results {
		r := &results[i]
		switch {
		case r.Err != nil:
			return fmt.Errorf("%w: flow %d: %w", errUnfinished, i, r.Err)
		case !r.Done():
			return fmt.Errorf("%w: flow %d has %d of %d bytes", errUnfinished, i, r.Acked, r.Bytes)
		}
	}
	return nil
}

// addToDigest writes every number of a flow's result, and its error.
func addToDigest(w hash.Hash, r *sim.FlowResult) {
	numbers := struct {
		Src, Dst, Start, Bytes          int64
		Started, Finished, Acked, Ideal int64
		Counts                          sim.FlowCounts
	}{
		int64(r.Src), int64(r.Dst), r.Start, r.Bytes,
		int64(r.Started), int64(r.Finished), r.Acked, int64(r.Ideal),
		r.FlowCounts,
	}
	// A hash takes everything; only a field of another size could fail here,
	// and the test of this function would show it.
	if err := binary.Write(w, binary.LittleEndian, &numbers); err != nil {
		panic(err)
	}
	fmt.Fprintln(w, r.Err)
}
