package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

// buildLimit is how long the braid command may take to compile on a cold cache.
const buildLimit = 5 * time.Minute

// errBadResult marks output of braid that is not what its documentation says.
var errBadResult = errors.New("braid printed an unusable result")

// findBraid returns the braid binary to measure and a function that removes it
// again where it was built for this run.
func findBraid(ctx context.Context, opts options) (binary string, remove func(), err error) {
	if opts.braid != "" {
		binary, err = exec.LookPath(opts.braid)
		return binary, func() {}, err
	}
	dir, err := os.MkdirTemp("", "braid-bench-")
	if err != nil {
		return "", nil, err
	}
	remove = func() { _ = os.RemoveAll(dir) }
	binary = filepath.Join(dir, "braid")
	ctx, cancel := context.WithTimeout(ctx, buildLimit)
	defer cancel()
	if _, err := runProgram(ctx, "go", "-C", opts.repo, "build", "-o", binary, "./cmd/braid"); err != nil {
		remove()
		return "", nil, fmt.Errorf("build braid: %w", err)
	}
	return binary, remove, nil
}

// A braidCommand runs `braid perf` between two processes on loopback.
type braidCommand struct {
	binary string
}

// perf returns a measurement by `braid perf op kind` with further arguments.
func (b braidCommand) perf(op, kind string, further ...string) measurement {
	return func(ctx context.Context, duration time.Duration) (sample, error) {
		args := slices.Concat(
			[]string{"perf", op, kind, "--loopback", "--json", "-D", wholeSeconds(duration)}, further)
		output, err := runProgram(ctx, b.binary, args...)
		if err != nil {
			return sample{}, err
		}
		return parsePerf(output, op)
	}
}

// pingPong measures the round trip of SENDs, of whose half `braid perf send lat` tells.
func (b braidCommand) pingPong(further ...string) measurement {
	half := b.perf("send", "lat", further...)
	return func(ctx context.Context, duration time.Duration) (sample, error) {
		s, err := half(ctx, duration)
		return sample{P50Micros: 2 * s.P50Micros, P99Micros: 2 * s.P99Micros}, err
	}
}

// perfResult is the part of braid's perf object that is used here.
type perfResult struct {
	Schema      json.RawMessage `json:"schema"`
	Op          string          `json:"op"`
	GoodputGbps float64         `json:"goodput_gbps"`
	RateMpps    float64         `json:"msg_rate_mpps"`
	LatMicros   struct {
		P50 float64 `json:"p50"`
		P99 float64 `json:"p99"`
	} `json:"lat_us"`
}

// parsePerf reads the one object that `braid perf --json` prints.
func parsePerf(output []byte, op string) (sample, error) {
	var result perfResult
	if err := json.Unmarshal(output, &result); err != nil {
		return sample{}, fmt.Errorf("%w: %w", errBadResult, err)
	}
	if len(result.Schema) == 0 {
		return sample{}, fmt.Errorf("%w: it has no schema", errBadResult)
	}
	if result.Op != op {
		return sample{}, fmt.Errorf("%w: it is about op %q, not %q", errBadResult, result.Op, op)
	}
	return sample{
		GoodputGbps: result.GoodputGbps,
		RateMops:    result.RateMpps,
		P50Micros:   result.LatMicros.P50,
		P99Micros:   result.LatMicros.P99,
	}, nil
}
