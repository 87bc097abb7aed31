package datapartition

import (
	"math"

	"github.com/braid-rdma/braid/experiments/experiment"
	"github.com/braid-rdma/braid/experiments/table"
)

// Value is a number of the results, as rows have it.
type Value = func(experiment.Results) float64

// Tenth is the tolerance of every published time and ratio, as of all throughputs in the figures.
var Tenth = table.Relative(0.1)

// Single is the time of the transfer without the algorithm, in ms.
var Single = undivided.time()

// Time is that with so many queue pairs and chunks of so many bytes.
func Time(qps, chunk int) Value { return divided(qps, chunk).time() }

func (p setting) time() Value { return experiment.Mean(p.name(), completion) }

// Over is one number divided by another.
func Over(a, b Value) Value {
	return func(r experiment.Results) float64 { return a(r) / b(r) }
}

// FirstRun is the first of some numbers whose case was run: quick runs leave some out.
func FirstRun(of ...Value) Value {
	return func(r experiment.Results) float64 {
		for _, value := range of {
			if v := value(r); !math.IsNaN(v) {
				return v
			}
		}
		return table.NoNumber()
	}
}

// SmallestChunk is the time with the smallest chunk that was run.
func SmallestChunk(qps int) Value { return FirstRun(Time(qps, chunks[0]), Time(qps, chunks[1])) }

// Shortest is the shortest time of all chunks with these numbers of queue pairs, or without the algorithm.
func Shortest(qps []int) Value {
	return func(r experiment.Results) float64 {
		shortest := Single(r)
		for _, n := range qps {
			for _, chunk := range chunks {
				if t := Time(n, chunk)(r); t < shortest { // not if it was not run
					shortest = t
				}
			}
		}
		return shortest
	}
}

// rows begins with those of the network and ends with what the paper's prose gives for all three: "the best results are
// achieved by splitting the data into 1K units" and "a significant increase of completion time happens when the chunk
// size larger than 32K" (§IV).
func (n *Network) rows() []experiment.Row {
	single := experiment.Row{Quantity: "one QP", Unit: "ms", Published: n.PublishedSingle, Tolerance: Tenth, Value: Single, Note: n.PublishedNote}
	trend := func(quantity string, a, b Value, bound table.Tolerance, note string) experiment.Row {
		return experiment.Row{Quantity: quantity, Published: table.NoNumber(), Tolerance: bound, Value: Over(a, b), Note: note}
	}
	return append(append([]experiment.Row{single}, n.Rows...),
		trend("4 QPs, smallest chunk to 32K, time", SmallestChunk(4), Time(4, knee), table.AtMost(1), "the smallest chunk, 1K or in quick runs 2K, is published as the best"),
		trend("4 QPs, 128K to 32K, time", Time(4, 128<<10), Time(4, knee), table.AtLeast(1.1), "32K is published as the threshold above which time grows"),
		trend("32K, 4 QPs to one QP undivided, time", Time(4, knee), Single, table.AtMost(0.9), "several queue pairs are published as better"))
}
