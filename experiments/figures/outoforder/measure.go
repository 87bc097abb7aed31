package outoforder

import (
	"github.com/braid-rdma/braid/experiments/experiment"
	"github.com/braid-rdma/braid/experiments/table"
)

// The measures that figures draw.
const (
	P999       = "p999"
	Normalised = "normalised"
	SentAgain  = "sent_again_percent"
)

// tail is the percentile that the paper shows.
const tail = 0.999

// Measures is what each run yields.
func Measures() []experiment.Measure {
	quantile := func(fraction float64) func(*experiment.Reading) float64 {
		return func(r *experiment.Reading) float64 { return float64(r.Degrees.Quantile(fraction)) }
	}
	return []experiment.Measure{
		{Name: "p50", Of: quantile(0.5)},
		{Name: "p99", Of: quantile(0.99)},
		{Name: P999, Of: quantile(tail)},
		{Name: "goodput_gbps", Of: func(r *experiment.Reading) float64 { return goodput(r) / 1e9 }},
		{Name: Normalised, Of: func(r *experiment.Reading) float64 { return goodput(r) / ideal(r) }},
		{Name: SentAgain, Of: func(r *experiment.Reading) float64 {
			return 100 * float64(r.Counts.Retransmitted) / float64(max(1, r.Counts.Packets))
		}},
		{Name: "timeouts", Of: func(r *experiment.Reading) float64 { return float64(r.Counts.Timeouts) }},
	}
}

// Tail is a row's value: the 99.9th percentile of the degrees of all runs of a case.
func (c Case) Tail(r experiment.Results) float64 {
	if r.First(c.Name()) == nil {
		return table.NoNumber()
	}
	return float64(r.Degrees(c.Name()).Quantile(tail))
}

// goodput is the payload rate of all connections together, in bits per second. It counts what the receivers accepted, not
// what was acknowledged in order: that comes in jumps whenever a packet of the slow path arrives.
func goodput(r *experiment.Reading) float64 {
	return float64(r.Degrees.Packets()) * float64(r.Scenario.Fabric.MTU) * 8 / (r.To - r.From).Seconds()
}

// overhead is what a data packet has beside its payload: preamble, gap, Ethernet header and FCS (38 bytes), IPv4 and UDP
// (28), BTH (12), RETH (16), the MP header (16) and ICRC (4).
const overhead = 38 + 28 + 12 + 16 + 16 + 4

// The paths that are as they should be.
const (
	pathRate = 40e9
	healthy  = 3 * pathRate
)

// ideal is the payload rate of all paths together, in bits per second: §5.2.1 normalises by it.
func ideal(r *experiment.Reading) float64 {
	total, mtu := healthy+pathRate, float64(r.Scenario.Fabric.MTU)
	if len(r.Scenario.Faults) > 0 {
		total = healthy + degradedRate
	}
	return total * mtu / (mtu + overhead)
}

// FairDegree is the out-of-order degree that arithmetic expects of the degraded link: how many packets a connection with a
// fair share of all paths sends while a packet waits in a queue of so many bytes at 1 Gb/s.
func FairDegree(queueBytes int) float64 {
	const (
		connections = 5
		packetBits  = 8 * (1448 + overhead)
	)
	wait := float64(queueBytes) * 8 / degradedRate
	return wait * (healthy + degradedRate) / connections / packetBits
}
