// Package mprdma13 reproduces figure 13 of MP-RDMA: completion times of flows of the web search workload between 320
// servers, with MP-RDMA and with DCQCN over ECMP.
package mprdma13

import (
	_ "embed"
	"fmt"

	"github.com/braid-rdma/braid/experiments/experiment"
	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/figures/testbed"
	"github.com/braid-rdma/braid/experiments/scenario"
	"github.com/braid-rdma/braid/sim"
	"github.com/braid-rdma/braid/sim/workload"
)

//go:embed README.md
var readme string

//go:embed scenario.yaml
var scenarioFile []byte

// The carriers: transports with their parameters and the marking that belongs to them.
const (
	mp             = "MP-RDMA"
	dcqcn          = "DCQCN"          // its authors' code and parameters, as the paper says
	mpSmallWindow  = "MP-RDMA, IW 54" // starts with 54 packets, as many as the paper's start with paths
	dcqcnHPCC      = "DCQCN, HPCC's dcqcn"
	dcqcnHPCCPaper = "DCQCN, HPCC's dcqcn_paper"
)

var carriers = map[string]func(*scenario.Scenario){
	mp:             func(*scenario.Scenario) {},
	dcqcn:          testbed.ByDCQCN("dcqcn", sim.MarkingDCQCN(), false),
	mpSmallWindow:  func(s *scenario.Scenario) { s.Transports["mp"].MP.InitialWindow = 54 },
	dcqcnHPCC:      testbed.ByDCQCN("dcqcn-hpcc", sim.MarkingHPCC(), true),
	dcqcnHPCCPaper: testbed.ByDCQCN("dcqcn-hpcc-paper", sim.MarkingHPCC(), true),
}

// sensitivityLoad is where the parameters of the transports are varied, longLoad where the time is for which flows arrive.
// The paper gives neither.
const (
	sensitivityLoad = 0.6
	longLoad        = 0.8
)

var (
	loads        = []float64{0.8, sensitivityLoad, 0.4, 0.2} // the longest first, so that no processor waits at the end
	quick        = map[float64]bool{sensitivityLoad: true, 0.4: true}
	arrivalTimes = []sim.Time{20 * sim.Millisecond, 10 * sim.Millisecond, 5 * sim.Millisecond, 2500 * sim.Microsecond}
	// markings are multiples of the thresholds of DCQCN's authors, markingArrivals how long flows arrive where they are tried.
	markings = []float64{0.5, 1, 2, 3, 4, 6}
	// reference is the case that HPCC's ns-3 was measured with as well.
	reference = setting{dcqcnHPCC, 0.5, 0, 0}
)

const (
	markingArrivals = 20 * sim.Millisecond
	// authorsKmin is where the marking of DCQCN's authors begins, in bytes: 40 packets of 1030 bytes. It ends, with
	// certainty, at 25 times as much.
	authorsKmin = 41_200
)

// A setting is one simulation.
type setting struct {
	carrier  string
	load     float64
	arrivals sim.Time // how long flows arrive in a network of 40 servers; 0: for 5 ms, among all 320
	marking  float64  // multiplies the thresholds from which on DCQCN's packets are marked; 0: as its authors have them
}

func (c setting) name() string {
	text := fmt.Sprintf("%s at load %v", c.carrier, c.load)
	if c.arrivals > 0 {
		text += fmt.Sprintf(", 40 servers, %v ms", c.arrivals.Seconds()*1e3)
	}
	if c.marking > 0 {
		text += fmt.Sprintf(", marking by %v", c.marking)
	}
	return text
}

func (c setting) change(s *scenario.Scenario) {
	flows := scenario.Configuration[workload.Poisson](s.Workload[0])
	flows.Load = c.load
	carriers[c.carrier](s)
	if c.arrivals > 0 {
		flows.Duration = int64(c.arrivals)
		testbed.FortyServers(s)
	}
	if c.marking > 0 {
		kmin := scenario.Bytes(authorsKmin * c.marking)
		s.Fabric.ECN = scenario.ECN{Kmin: kmin, Kmax: 25 * kmin, Pmax: 1, Departing: true}
	}
}

// run is the setting for the driver.
func (c setting) run(full bool) experiment.Case {
	return experiment.Case{
		Name: c.name(), Full: full, For: 2 * sim.Second, UntilDone: true, Change: c.change, QuickChange: testbed.FortyServers,
		Probes: func(run *scenario.Run, r *experiment.Reading) []experiment.Probe {
			return []experiment.Probe{{Name: carried, From: sim.Time(scenario.Configuration[workload.Poisson](r.Scenario.Workload[0]).Duration), Of: func() float64 { return carriedShare(run) }}}
		},
	}
}

// Figure is figure 13 of MP-RDMA.
func Figure() *figure.Figure {
	e := &experiment.Experiment{
		Name: "mp-rdma-13", Title: "Flow completion times of web search traffic",
		Paper: "MP-RDMA (NSDI '18)", Section: "§5.1.2, figure 13",
		README: readme, Scenario: scenarioFile, Measures: measures(), Rows: rows(), Plots: plots(),
	}
	add := func(full bool, all ...setting) {
		for _, c := range all {
			e.Cases = append(e.Cases, c.run(full))
		}
	}
	for _, load := range loads {
		add(!quick[load], setting{mp, load, 0, 0}, setting{dcqcn, load, 0, 0})
	}
	for _, carrier := range []string{mpSmallWindow, dcqcnHPCC, dcqcnHPCCPaper} {
		add(true, setting{carrier, sensitivityLoad, 0, 0})
	}
	add(true, reference)
	for _, arrivals := range arrivalTimes {
		add(true, setting{mp, longLoad, arrivals, 0}, setting{dcqcn, longLoad, arrivals, 0})
	}
	add(true, setting{mp, sensitivityLoad, markingArrivals, 0})
	for _, factor := range markings {
		add(true, setting{dcqcn, sensitivityLoad, markingArrivals, factor})
	}
	return e.Figure()
}
