package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"time"
)

// Simulations, too, are this same program with a role: each in a process of its
// own, so that its peak of memory and its garbage are nobody else's.
const (
	roleSimulate = "simulate"
	roleHeap     = "heap"

	scenarioVariable = "BRAID_BENCH_SCENARIO"
	workersVariable  = "BRAID_BENCH_WORKERS"
)

// simLimit ends a simulation that takes far longer than any should.
const simLimit = 5 * time.Minute

// runSimulation returns a measurement of a scenario in a process that has as
// many processors as workers: what garbage collection costs is then part of it.
func runSimulation(scenario string, workers int) func(context.Context) (sample, error) {
	return func(ctx context.Context) (sample, error) {
		if workers > runtime.NumCPU() {
			return sample{}, fmt.Errorf("%w: this machine has %d processors for %d workers", errSkipped, runtime.NumCPU(), workers)
		}
		return playAlone(ctx, workers, roleSimulate,
			scenarioVariable+"="+scenario, workersVariable+"="+strconv.Itoa(workers))
	}
}

// runHeap is the measurement of the bare heap.
func runHeap(ctx context.Context) (sample, error) { return playAlone(ctx, 1, roleHeap) }

// playAlone starts this program with a role and returns what it found.
func playAlone(ctx context.Context, processors int, role string, variables ...string) (sample, error) {
	program, err := os.Executable()
	if err != nil {
		return sample{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, simLimit, errTooSlow)
	defer cancel()
	c, err := startChild(ctx, append(variables,
		roleVariable+"="+role,
		durationVariable+"="+heapTime.String(),
		"GOMAXPROCS="+strconv.Itoa(processors),
	), program)
	if err != nil {
		return sample{}, err
	}
	defer c.kill()
	output, err := c.finish()
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = fmt.Errorf("%w: %w", cause, err)
		}
		return sample{}, err
	}
	return parseRole(output)
}

// playSimulation is the role: one run of the scenario that the environment names.
func playSimulation(stdout io.Writer) error {
	workers, err := strconv.Atoi(os.Getenv(workersVariable))
	if err != nil {
		return fmt.Errorf("%s: %w", workersVariable, err)
	}
	scenario, err := findScenario(os.Getenv(scenarioVariable))
	if err != nil {
		return err
	}
	s, err := simulate(scenario, workers)
	if err != nil {
		return fmt.Errorf("%s with %d workers: %w", scenario.name, workers, err)
	}
	return json.NewEncoder(stdout).Encode(s)
}
