package testbed

import (
	"fmt"
	"math"

	"github.com/braid-rdma/braid/experiments/experiment"
	"github.com/braid-rdma/braid/experiments/plot"
	"github.com/braid-rdma/braid/experiments/scenario"
	"github.com/braid-rdma/braid/sim"
)

// Paths is how many there are between the ToR switches.
const Paths = 4

// Path is the name of a path's probe; paths count from 1.
func Path(number int) string { return fmt.Sprint("path ", number) }

// WatchPaths makes the probes of a case: the bytes that tor0 has sent to each path, with all headers.
func WatchPaths(every sim.Time) func(*scenario.Run, *experiment.Reading) []experiment.Probe {
	return func(run *scenario.Run, _ *experiment.Reading) (probes []experiment.Probe) {
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

// Headers is how many bytes a link has carried for each byte of payload, where all flows have messages of one size. The last
// packet of a message is shorter than the others.
func Headers(r *experiment.Reading, link *sim.LinkResult) float64 {
	message, mtu := r.Flows[0].MessageSize(), int64(r.Scenario.Fabric.MTU)
	packets := (message + mtu - 1) / mtu
	return float64(link.Bytes) / float64(link.Packets) * float64(packets) / float64(message)
}

// The packet sizes and marking thresholds of the sensitivity plots; the first of each are those of the scenarios. The paper
// does not say how long its packets are, but 150.68 of 160 Gb/s (§5.1.2) and 37.65 of 40 (figure 17) are the share of 1448 B
// in an Ethernet frame of 1500 B with its gap. RoCE's next smaller size is 1024 B.
var (
	MTUs  = []int{1448, 1024, 4096}
	Marks = []int{20, 30, 40, 60} // KB
)

// bdp is the initial window in bytes (§5).
const bdp = 60_000

// SetPackets changes the packet size, and the window to the same bytes.
func SetPackets(s *scenario.Scenario, mtu int) {
	s.Fabric.MTU = mtu
	s.Transports["mp"].MP.InitialWindow = bdp / mtu
}

// SetMark changes the marking threshold of all queues, in KB.
func SetMark(s *scenario.Scenario, mark int) {
	s.Fabric.ECN = scenario.ECN{Kmin: scenario.Bytes(1000 * mark), Kmax: scenario.Bytes(1000 * mark), Pmax: 1}
}

// EachSetting goes through all packet sizes and thresholds but those of the scenarios.
func EachSetting(do func(mtu, mark int)) {
	for _, mtu := range MTUs {
		for _, mark := range Marks {
			if mtu != MTUs[0] || mark != Marks[0] {
				do(mtu, mark)
			}
		}
	}
}

// SweepSettings is a line for each packet size over the thresholds. Nothing is drawn where a line would have one point.
func SweepSettings(s experiment.Sweep, value func(mtu, mark int) func(experiment.Results) float64) func(experiment.Results) experiment.Chart {
	s.X = plot.Axis{Label: "marking threshold", Unit: "KB", Min: 10, Max: 60}
	for _, mtu := range MTUs {
		line := experiment.SweepLine{Name: fmt.Sprintf("MTU %d B", mtu)}
		for _, mark := range Marks {
			line.Add(float64(mark), value(mtu, mark))
		}
		s.Lines = append(s.Lines, line)
	}
	return func(r experiment.Results) experiment.Chart {
		if math.IsNaN(value(MTUs[0], Marks[1])(r)) {
			return nil
		}
		return s.Draw(r)
	}
}
