package mprdma12b

import (
	"slices"

	"github.com/braid-rdma/braid/sim"
)

// A testCase is one simulation: what it changes in the scenario, and when its
// connections have settled.
type testCase struct {
	name     string
	settings []string
	warmUp   sim.Time
	duration sim.Time
	flows    bool // connections carry 5 MB each and end, instead of going on
}

// The names of the cases that rows and plots ask for.
const (
	caseMP             = "MP-RDMA"
	caseAuthors        = "DCQCN, authors'"
	caseHPCCPaper      = "DCQCN, HPCC's dcqcn_paper"
	caseScatteredMP    = "MP-RDMA, scattered"
	caseScatteredDCQCN = "DCQCN, authors', scattered"
	caseHPCCReference  = "DCQCN, HPCC's dcqcn, 5 MB"
)

// A window follows every acknowledgement and settles in milliseconds. DCQCN adds
// 40 Mb/s to a rate some ten thousand times per second, so that a connection that
// was cut to a few Gb/s needs tens of milliseconds to find its share. Where the
// senders are scattered few connections meet, and both settle sooner.
const (
	windowSettles          = 3 * sim.Millisecond
	windowEnd              = 13 * sim.Millisecond
	scatteredWindowSettles = 2 * sim.Millisecond
	scatteredWindowEnd     = 4 * sim.Millisecond

	rateSettles          = 15 * sim.Millisecond
	rateEnd              = 22 * sim.Millisecond
	scatteredRateSettles = 8 * sim.Millisecond
	scatteredRateEnd     = 14 * sim.Millisecond

	referenceEnd = 50 * sim.Millisecond
)

// scatter draws the senders from all leaves.
const scatter = "workload[0].senders=random-half"

// A variant of DCQCN is a rate control with the marking and the traffic class for
// notices that it was published with. The paper used the authors' code and parameters;
// HPCC's are here because another simulator's numbers are known for them.
func dcqcnWith(rate, marking, express string) []string {
	// DCQCN limits the rate and nothing else, so the window is as large as the transport allows.
	return []string{
		"transports={dcqcn: {kind: rc, rate: " + rate + ", window: 16384}}",
		"workload[0].transport=dcqcn",
		"fabric.ecn=" + marking,
		"fabric.express=" + express,
	}
}

var (
	authors   = dcqcnWith("dcqcn", "dcqcn", "{priority: 7}")
	hpcc      = dcqcnWith("dcqcn-hpcc", "dcqcn-hpcc", "{priority: 7, acks: true}")
	hpccPaper = dcqcnWith("dcqcn-hpcc-paper", "dcqcn-hpcc", "{priority: 7, acks: true}")
)

func allCases() []testCase {
	dcqcn := func(name string, variant []string, more ...string) testCase {
		return testCase{
			name: name, settings: slices.Concat(variant, more),
			warmUp: rateSettles, duration: rateEnd,
		}
	}
	reference := dcqcn(caseHPCCReference, hpcc, scatter, "workload[0].bytes=5MB")
	reference.warmUp, reference.duration, reference.flows = 0, referenceEnd, true
	scattered := dcqcn(caseScatteredDCQCN, authors, scatter)
	scattered.warmUp, scattered.duration = scatteredRateSettles, scatteredRateEnd
	return []testCase{
		// The longest first, so that no processor waits at the end.
		{name: caseMP, warmUp: windowSettles, duration: windowEnd},
		dcqcn(caseAuthors, authors),
		dcqcn(caseHPCCPaper, hpccPaper),
		scattered,
		{name: caseScatteredMP, settings: []string{scatter}, warmUp: scatteredWindowSettles, duration: scatteredWindowEnd},
		reference,
	}
}

// quickCases are the two that the figure compares, in a network of 40 servers.
func quickCases() []testCase {
	small := "topology.leaves=4"
	return []testCase{
		{name: caseMP, settings: []string{small}, warmUp: 1 * sim.Millisecond, duration: 3 * sim.Millisecond},
		{
			name: caseAuthors, settings: slices.Concat([]string{small}, authors),
			warmUp: 5 * sim.Millisecond, duration: 10 * sim.Millisecond,
		},
	}
}
