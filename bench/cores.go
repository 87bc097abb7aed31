package main

import (
	"context"
	"os"
	"runtime"
	"sync"
	"time"
)

// A coresSample is what became of several transfers at once.
type coresSample struct {
	// Jain is the index of fairness of their goodputs: 1 where all are equal.
	Jain float64 `json:"jain,omitempty"`
	// Kept is the part of the goodput that is left beside busy loops.
	Kept float64 `json:"kept,omitempty"`
}

var (
	jain = metric{name: "Jain's index", unit: "", worstCounts: true, value: func(s sample) float64 { return s.Cores.Jain }}
	kept = metric{name: "goodput kept", unit: "", value: func(s sample) float64 { return s.Cores.Kept }}
)

// coresSuite is what is measured of more work than one connection's, and of a machine that is busy with something else.
func coresSuite(braidBinary string, duration time.Duration) []group {
	braid := braidCommand{binary: braidBinary}
	// Who shares a machine waits for completions: four processes that poll take the two cores from each other.
	mp := braid.perf("write", "bw", "--qp", "mp", "--paths", "4", "-s", "1048576", "--events")
	const oneOfBraid = 2
	return append(loopsGroups(duration), []group{
		{
			part: partCores, title: "pairs of processes", metric: goodput,
			contestants: []contestant{
				{name: "iperf3, one TCP stream", run: measurement(measureIperf).lasting(duration)},
				{name: "iperf3, one TCP stream in each of two pairs", run: twice(measureIperf).lasting(duration), also: []aspect{{metric: jain}}},
				{name: "braid MP, one connection", ours: true, run: mp.lasting(duration)},
				{
					name: "braid MP, one connection in each of two pairs", ours: true, reference: oneOfBraid,
					target: &target{bound: 1.6, ofReference: true}, run: twice(mp).lasting(duration),
					also: []aspect{{metric: jain, target: &target{bound: 0.95}}},
				},
			},
		},

		{
			part: partCores, title: "beside as many busy loops as cores", metric: kept,
			contestants: []contestant{
				{name: "iperf3, one TCP stream", run: besideLoops(measureIperf).within(2*duration+2*grace, duration)},
				{
					name: "braid MP, one connection", ours: true, target: &target{bound: 1, ofReference: true},
					run: besideLoops(mp).within(2*duration+2*grace, duration),
				},
			},
		},
	}...)
}

// twice takes a measurement two times at once. What counts is what both have moved.
func twice(m measurement) measurement {
	return func(ctx context.Context, duration time.Duration) (sample, error) {
		var (
			each [2]sample
			errs [2]error
			both sync.WaitGroup
		)
		for i := range each {
			both.Go(func() { each[i], errs[i] = m(ctx, duration) })
		}
		both.Wait()
		for _, err := range errs {
			if err != nil {
				return sample{}, err
			}
		}
		a, b := each[0].GoodputGbps, each[1].GoodputGbps
		return sample{GoodputGbps: a + b, Cores: &coresSample{Jain: (a + b) * (a + b) / (2 * (a*a + b*b))}}, nil
	}
}

// besideLoops compares a measurement beside busy loops with one on a machine that is left alone.
func besideLoops(m measurement) measurement {
	return func(ctx context.Context, duration time.Duration) (sample, error) {
		alone, err := m(ctx, duration)
		if err != nil {
			return sample{}, err
		}
		program, err := os.Executable()
		if err != nil {
			return sample{}, err
		}
		for range runtime.NumCPU() {
			loop, err := startChild(ctx, []string{roleVariable + "=" + roleLoop, durationVariable + "=" + roleLimit.String()}, program)
			if err != nil {
				return sample{}, err
			}
			defer loop.kill()
		}
		beside, err := m(ctx, duration)
		if err != nil {
			return sample{}, err
		}
		return sample{GoodputGbps: beside.GoodputGbps, Cores: &coresSample{Kept: beside.GoodputGbps / alone.GoodputGbps}}, nil
	}
}

// roleLoop is a process that computes.
const roleLoop = "loop"

func computeUntil(ctx context.Context) {
	for done := false; !done; {
		for range 1 << 16 {
			done = ctx.Err() != nil
		}
	}
}
