package testbed

import (
	"fmt"

	"github.com/braid-rdma/braid/experiments/experiment"
	"github.com/braid-rdma/braid/experiments/scenario"
	"github.com/braid-rdma/braid/sim"
)

// Paths is how many there are between the ToR switches.
const Paths = 4

// Path is the name of a path's probe; paths count from 1.
func Path(number int) string { return fmt.Sprint("path ", number) }

// WatchPaths makes the probes of a case: the bytes that tor0 has sent to each path, with all headers.
func WatchPaths(every sim.Time) func(*scenario.Run) []experiment.Probe {
	return func(run *scenario.Run) (probes []experiment.Probe) {
		for p := 1; p <= Paths; p++ {
			probes = append(probes, experiment.Probe{Name: Path(p), Every: every, Of: experiment.Sent(run, "tor0", fmt.Sprint("path", p))})
		}
		return probes
	}
}

// TracePaths draws the rates of all paths.
func TracePaths() (lines []experiment.Trace) {
	for p := 1; p <= Paths; p++ {
		lines = append(lines, experiment.Trace{Name: Path(p), Of: experiment.RateOf(Path(p))})
	}
	return lines
}
