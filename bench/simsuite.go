package main

// What is measured of a simulation.
var (
	simRate = metric{name: "packet-hops", unit: "M/s", value: func(s sample) float64 { return s.RateMops }}
	simHeap = metric{name: "pushes and pops", unit: "M/s", value: func(s sample) float64 { return s.RateMops }}
	simWall = metric{name: "wall time", unit: "s", lowerIsBetter: true, value: func(s sample) float64 {
		if s.Simulation == nil {
			return 0
		}
		return s.Simulation.SetupSeconds + s.Simulation.RunSeconds
	}}
	simPeak = metric{name: "peak memory", unit: "MB", lowerIsBetter: true, worstCounts: true, value: peakMegabytes}
)

func peakMegabytes(s sample) float64 {
	if s.Simulation == nil {
		return 0
	}
	return float64(s.Simulation.PeakBytes) / megabyte
}

// memoryLimit8192 is 8 GiB, in the table's unit.
const memoryLimit8192 = float64(8<<30) / megabyte

// simSuite lists what is measured of the simulator and what braid promises. The
// first group takes turns with a bare heap, because machines are noisy: a ratio
// of hops to heap operations says more than a rate. The long runs have fewer
// rounds, so that all of it takes about a minute and a half.
func simSuite() []group {
	const oneWorkerLS1024 = 2 // its place among the contestants
	return []group{
		{
			part: partSimulator, title: "events", metric: simRate,
			contestants: []contestant{
				{name: "container/heap, 10,000 pending", metric: &simHeap, run: runHeap},
				{
					name: "LS128: braid MP, one worker", ours: true, target: &target{bound: 3},
					run: runSimulation(scenarioLS128, 1), beside: publishedLS128,
				},
				{
					name: "LS1024: braid MP, one worker", ours: true, target: &target{bound: 2},
					run:  runSimulation(scenarioLS1024, 1),
					also: []aspect{{simPeak, &target{bound: 300}}}, beside: publishedLS1024,
				},
				{
					name: "LS1024: braid MP, two workers", ours: true,
					reference: oneWorkerLS1024, target: &target{bound: 1.6, ofReference: true},
					run: runSimulation(scenarioLS1024, 2),
				},
			},
		},
		{
			part: partSimulator, title: "web search", metric: simWall, maxRounds: 2,
			contestants: []contestant{{
				name: "WS320: braid RC with DCQCN, 1024 B", ours: true, target: &target{bound: 20},
				run: runSimulation(scenarioWS320, 1), beside: publishedWS320,
			}},
		},
		{
			part: partSimulator, title: "size", metric: simPeak, maxRounds: 1,
			contestants: []contestant{{
				name: "8,192 hosts: braid MP, 100 µs", ours: true, target: &target{bound: memoryLimit8192},
				run: runSimulation(scenario8192, 1),
			}},
		},
	}
}
