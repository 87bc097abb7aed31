package mprdma13

import (
	"fmt"

	"github.com/braid-rdma/braid/sim"
)

// A carrier is a transport with its parameters and the marking that belongs to them.
type carrier int

const (
	mp            carrier = iota
	dcqcn                 // its authors' code and parameters, as the paper says
	mpSmallWindow         // starts with 54 packets, as many as the paper's start with paths
	dcqcnHPCC
	dcqcnHPCCPaper
)

func (c carrier) String() string {
	return [...]string{"MP-RDMA", "DCQCN", "MP-RDMA, IW 54", "DCQCN, HPCC's dcqcn", "DCQCN, HPCC's dcqcn_paper"}[c]
}

// settings are what the carrier changes in the scenario. Each variant of DCQCN has the
// marking and the traffic class for notices that it was published with. DCQCN limits
// the rate and nothing else, so its window is as large as the transport allows.
func (c carrier) settings() []string {
	rc := func(rate, marking, express string) []string {
		return []string{
			"transports={dcqcn: {kind: rc, rate: " + rate + ", window: 16384}}",
			"workload[0].transport=dcqcn",
			"fabric.ecn=" + marking,
			"fabric.express=" + express,
		}
	}
	switch c {
	case dcqcn:
		return rc("dcqcn", "dcqcn", "{priority: 7}")
	case dcqcnHPCC:
		return rc("dcqcn-hpcc", "dcqcn-hpcc", "{priority: 7, acks: true}")
	case dcqcnHPCCPaper:
		return rc("dcqcn-hpcc-paper", "dcqcn-hpcc", "{priority: 7, acks: true}")
	case mpSmallWindow:
		return []string{"transports.mp.initial-window=54"}
	}
	return nil
}

// authorsKmin is where the marking of DCQCN's authors begins, in bytes: 40 packets of
// 1030 bytes. It ends, with certainty, at 25 times as much.
const authorsKmin = 41_200

func authorsMarking(factor float64) string {
	return fmt.Sprintf("fabric.ecn={kmin: %.0f, kmax: %.0f, pmax: 1, departing: true}", authorsKmin*factor, 25*authorsKmin*factor)
}

// A testCase is one simulation.
type testCase struct {
	carrier carrier
	load    float64
	// arrivals is how long flows arrive in a network of 40 servers; 0: for 5 ms,
	// among all 320.
	arrivals sim.Time
	// marking multiplies the thresholds from which on DCQCN's packets are marked;
	// 0: as its authors have them.
	marking float64
}

func (c testCase) String() string { return fmt.Sprintf("%v at load %v", c.carrier, c.load) }

// arrivalTime is how long flows arrive.
func (c testCase) arrivalTime() sim.Time {
	if c.arrivals > 0 {
		return c.arrivals
	}
	return 5 * sim.Millisecond
}

func (c testCase) settings() []string {
	settings := []string{fmt.Sprint("workload[0].load=", c.load), fmt.Sprint("workload[0].duration=", c.arrivalTime().Seconds(), "s")}
	if c.arrivals > 0 {
		settings = append(settings, "topology.leaves=4")
	}
	settings = append(settings, c.carrier.settings()...)
	if c.marking > 0 {
		settings = append(settings, authorsMarking(c.marking))
	}
	return settings
}

// extent is how much is simulated.
type extent struct {
	loads    []float64
	arrivals sim.Time // of the cases at each load
	cases    []testCase
}

// sensitivityLoad is where the parameters of the transports are varied, longLoad
// where the time is for which flows arrive. The paper gives neither.
const (
	sensitivityLoad = 0.6
	longLoad        = 0.8
)

// reference is the case that HPCC's ns-3 was measured with as well.
var reference = testCase{dcqcnHPCC, 0.5, 0, 0}

var arrivalTimes = []sim.Time{20 * sim.Millisecond, 10 * sim.Millisecond, 5 * sim.Millisecond, 2500 * sim.Microsecond}

// markings are multiples of the thresholds of DCQCN's authors, markingArrivals how
// long flows arrive where they are tried.
var markings = []float64{0.5, 1, 2, 3, 4, 6}

const markingArrivals = 20 * sim.Millisecond

func extentOf(quick bool) extent {
	e := extent{loads: []float64{0.8, 0.6, 0.4, 0.2}} // the longest first, so that no processor waits at the end
	if quick {
		e.loads, e.arrivals = []float64{sensitivityLoad, 0.4}, 5*sim.Millisecond
	}
	for _, load := range e.loads {
		e.cases = append(e.cases, testCase{mp, load, e.arrivals, 0}, testCase{dcqcn, load, e.arrivals, 0})
	}
	if quick {
		return e
	}
	for _, c := range []carrier{mpSmallWindow, dcqcnHPCC, dcqcnHPCCPaper} {
		e.cases = append(e.cases, testCase{c, sensitivityLoad, 0, 0})
	}
	e.cases = append(e.cases, reference)
	for _, arrivals := range arrivalTimes {
		e.cases = append(e.cases, testCase{mp, longLoad, arrivals, 0}, testCase{dcqcn, longLoad, arrivals, 0})
	}
	e.cases = append(e.cases, testCase{mp, sensitivityLoad, markingArrivals, 0})
	for _, factor := range markings {
		e.cases = append(e.cases, testCase{dcqcn, sensitivityLoad, markingArrivals, factor})
	}
	return e
}
