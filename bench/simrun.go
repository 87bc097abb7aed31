package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/braid-rdma/braid/sim"
)

// errNoPeak is returned where the system does not tell a process's peak memory.
var errNoPeak = errors.New("the peak of resident memory is unknown")

// simulate runs a scenario once, in this process, and tells what it was like.
// The rate is that of the run alone: setting up is timed apart.
func simulate(s simScenario, workers int) (sample, error) {
	sim.CollectSeldom() // as `braid sim` does
	begin := time.Now()
	network, traffic, err := s.build(workers)
	if err != nil {
		return sample{}, err
	}
	ready := time.Now()
	network.Run(s.end)
	done := time.Now()

	results := make([]sim.FlowResult, traffic.Flows())
	for i := range results {
		results[i] = traffic.Result(i)
	}
	if !s.cutOff {
		if err := requireFinished(results); err != nil {
			return sample{}, err
		}
	}
	f := &simFigures{
		Scenario: s.name, Workers: workers,
		SetupSeconds: ready.Sub(begin).Seconds(), RunSeconds: done.Sub(ready).Seconds(),
		Hops: network.Hops(), Events: network.Events(),
	}
	f.takeFlows(results)
	if f.CPUSeconds, err = processorTime(); err != nil {
		return sample{}, err
	}
	if f.PeakBytes, err = peakMemory(); err != nil {
		return sample{}, err
	}
	return sample{RateMops: float64(f.Hops) / f.RunSeconds / 1e6, Simulation: f}, nil
}

// processorTime is what this process has used so far, in seconds.
func processorTime() (float64, error) {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		return 0, err
	}
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9, nil
}

// peakMemory is the most resident memory that this process has had.
func peakMemory() (int64, error) {
	status, err := os.Open("/proc/self/status")
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errNoPeak, err)
	}
	defer status.Close()
	return parsePeak(status)
}

// parsePeak finds the high-water mark in the text of a process's status file.
func parsePeak(status io.Reader) (int64, error) {
	lines := bufio.NewScanner(status)
	for lines.Scan() {
		value, found := strings.CutPrefix(lines.Text(), "VmHWM:")
		if !found {
			continue
		}
		number, unit, _ := strings.Cut(strings.TrimSpace(value), " ")
		kilobytes, err := strconv.ParseInt(number, 10, 64)
		if err != nil || unit != "kB" {
			return 0, fmt.Errorf("%w: %q", errNoPeak, lines.Text())
		}
		return kilobytes << 10, nil
	}
	return 0, errors.Join(errNoPeak, lines.Err())
}
