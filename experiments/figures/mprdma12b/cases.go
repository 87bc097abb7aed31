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
	caseAuthors        = "DCQCN, authors' parameters"
	caseHPCCPaper      = "DCQCN, HPCC's dcqcn_paper"
	caseScatteredMP    = "MP-RDMA, scattered"
	caseScatteredDCQCN = "DCQCN, authors' parameters, scattered"
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

// dcqcnWith replaces the transport. DCQCN limits the rate and nothing else, so the
// window is as large as the transport allows.
func dcqcnWith(parameters string) []string {
	return []string{
		"transports={dcqcn: {kind: rc, rate: dcqcn, window: 16384, dcqcn: " + parameters + "}}",
		"workload[0].transport=dcqcn",
	}
}

// The published sets of parameters; HPCC's code keeps the target of a rate when two
// decreases follow each other.
const (
	authors   = "authors"
	hpcc      = "{preset: hpcc, keep-target: true}"
	hpccPaper = "{preset: hpcc-paper, keep-target: true}"
)

// markingAuthors is RED as in the sample of DCQCN's authors: 40 to 1000 packets of
// 1030 bytes. markingHPCC grows with the rate of the link: 100 KB and 400 KB for
// each 25 Gb/s.
var (
	markingAuthors = []string{"fabric.ecn={kmin: 41200, kmax: 1030000, pmax: 1}"}
	markingHPCC    = []string{
		"fabric.ecn={kmin: 160KB, kmax: 640KB, pmax: 0.2}",
		`fabric.links={"leaf*-spine*": {ecn: {kmin: 400KB, kmax: 1600KB, pmax: 0.2}}}`,
	}
)

func allCases() []testCase {
	dcqcn := func(name, parameters string, marking []string, more ...string) testCase {
		return testCase{
			name: name, settings: slices.Concat(dcqcnWith(parameters), marking, more),
			warmUp: rateSettles, duration: rateEnd,
		}
	}
	reference := dcqcn(caseHPCCReference, hpcc, markingHPCC, scatter, "workload[0].bytes=5MB")
	reference.warmUp, reference.duration, reference.flows = 0, referenceEnd, true
	scattered := dcqcn(caseScatteredDCQCN, authors, markingAuthors, scatter)
	scattered.warmUp, scattered.duration = scatteredRateSettles, scatteredRateEnd
	return []testCase{
		// The longest first, so that no processor waits at the end.
		{name: caseMP, warmUp: windowSettles, duration: windowEnd},
		dcqcn(caseAuthors, authors, markingAuthors),
		dcqcn(caseHPCCPaper, hpccPaper, markingHPCC),
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
			name: caseAuthors, settings: slices.Concat([]string{small}, dcqcnWith(authors), markingAuthors),
			warmUp: 5 * sim.Millisecond, duration: 10 * sim.Millisecond,
		},
	}
}
