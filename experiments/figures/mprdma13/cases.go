package mprdma13

import (
	"fmt"
	"slices"
)

// A carrier is a transport with its parameters and the marking that belongs to them.
type carrier int

const (
	mp            carrier = iota
	dcqcn                 // with the parameters of its authors, as the paper says
	mpSmallWindow         // starts with 54 packets, as many as the paper's start with paths
	dcqcnHPCC
	dcqcnHPCCPaper
)

func (c carrier) String() string {
	return [...]string{"MP-RDMA", "DCQCN", "MP-RDMA, IW 54", "DCQCN, HPCC's dcqcn", "DCQCN, HPCC's dcqcn_paper"}[c]
}

// settings are what the carrier changes in the scenario. DCQCN limits the rate and
// nothing else, so its window is as large as the transport allows. HPCC's marking
// grows with the rate of the link, and its code keeps the target of a rate when two
// decreases follow each other.
func (c carrier) settings() []string {
	rc := func(parameters string) []string {
		return []string{
			"transports={dcqcn: {kind: rc, rate: dcqcn, window: 16384, dcqcn: " + parameters + "}}",
			"workload[0].transport=dcqcn",
		}
	}
	markingHPCC := []string{
		"fabric.ecn={kmin: 160KB, kmax: 640KB, pmax: 0.2}",
		`fabric.links={"leaf*-spine*": {ecn: {kmin: 400KB, kmax: 1600KB, pmax: 0.2}}}`,
	}
	switch c {
	case dcqcn: // 40 to 1000 packets of 1030 bytes
		return append(rc("authors"), "fabric.ecn={kmin: 41200, kmax: 1030000, pmax: 1}")
	case dcqcnHPCC:
		return slices.Concat(rc("{preset: hpcc, keep-target: true}"), markingHPCC)
	case dcqcnHPCCPaper:
		return slices.Concat(rc("{preset: hpcc-paper, keep-target: true}"), markingHPCC)
	case mpSmallWindow:
		return []string{"transports.mp.initial-window=54"}
	}
	return nil
}

// A testCase is one simulation.
type testCase struct {
	carrier carrier
	load    float64
}

// extent is how much is simulated.
type extent struct {
	loads    []float64
	cases    []testCase
	settings []string // of all cases
}

// sensitivityLoad is where the parameters that the paper does not give are varied.
const sensitivityLoad = 0.6

func extentOf(quick bool) extent {
	e := extent{loads: []float64{0.8, 0.6, 0.4, 0.2}} // the longest first, so that no processor waits at the end
	carriers := []carrier{mp, dcqcn}
	if quick {
		e.loads = []float64{sensitivityLoad}
		e.settings = []string{"topology.leaves=4", "workload[0].duration=2500us"}
	}
	for _, load := range e.loads {
		for _, c := range carriers {
			e.cases = append(e.cases, testCase{c, load})
		}
	}
	if !quick {
		for _, c := range []carrier{mpSmallWindow, dcqcnHPCC, dcqcnHPCCPaper} {
			e.cases = append(e.cases, testCase{c, sensitivityLoad})
		}
	}
	return e
}

func (c testCase) String() string { return fmt.Sprintf("%v at load %v", c.carrier, c.load) }
