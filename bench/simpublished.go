package main

// publishedSource marks what was not measured in this run.
const publishedSource = "facts of the field, measured earlier on such a machine"

// megabyte is the unit in which the published figures of memory are.
const megabyte = 1_000_000

// A published figure is what another simulator reached in the same scenario. It
// stands in the table for orientation: it is no contestant, and no ratio is
// taken, because it was measured at another time.
type published struct {
	name string
	sample
}

// row is the figure as a row of the group.
func (p published) row(g group, m metric) row {
	r := g.newRow(p.name, m, false)
	r.Published = publishedSource
	r.Best, r.best = m.value(p.sample), p.sample
	return r
}

// publishedRate is a rate on one core, in millions of hops per second, with the
// memory that it took and the flows' completion times as far as they are known.
func publishedRate(name string, rate float64, megabytes int64, completion spread) published {
	return published{name, sample{
		RateMops:   rate,
		Simulation: &simFigures{PeakBytes: megabytes * megabyte, CompletionMicros: completion},
	}}
}

// The published rates. Packets of others are smaller where the name says so;
// what counts is packets and not bytes.
var (
	publishedLS128 = []published{
		publishedRate("LS128: uet-htsim UEC, 4150 B", 1.16, 12, spread{168, 182, 194}),
		publishedRate("LS128: csg-htsim RoCE with PFC, no congestion control, 1074 B", 1.29, 13, spread{}),
		publishedRate("LS128: HPCC's ns-3, DCQCN and PFC, 1000 B", 0.28, 174, spread{172, 601, 1200}),
		publishedRate("LS128: conweave's ns-3", 0.22, 0, spread{}),
	}
	publishedLS1024 = []published{
		publishedRate("LS1024: uet-htsim UEC, 4150 B", 0.52, 78, spread{}),
		publishedRate("LS1024: csg-htsim RoCE with PFC, no congestion control, 1074 B", 0.50, 84, spread{}),
		publishedRate("LS1024: HPCC's ns-3, DCQCN and PFC, 1000 B", 0.136, 2200, spread{}),
	}
	publishedWS320 = []published{{"WS320: HPCC's ns-3, DCQCN and PFC, 1000 B", sample{
		Simulation: &simFigures{
			RunSeconds: 118, PeakBytes: 294 * megabyte, Flows: webSearchFlows, DataPackets: 4_370_000,
			SlowdownMean: 2.02, SlowdownP99: 6.77,
		},
	}}}
)
