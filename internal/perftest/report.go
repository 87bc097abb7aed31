package perftest

import (
	"encoding/binary"
	"math"
)

// Report is what one end measured in a bandwidth test. Bandwidths are in MiB per
// second, as both ends print them by default; the rate is in millions per second.
type Report struct {
	Size       uint64
	Iterations uint64
	Peak       float64
	Average    float64
	Rate       float64
}

// words are the report's numbers, each of which is exchanged by itself.
func (r *Report) words() [5]uint64 {
	return [...]uint64{
		r.Size, r.Iterations,
		math.Float64bits(r.Peak), math.Float64bits(r.Average), math.Float64bits(r.Rate),
	}
}

func reportOf(w [5]uint64) Report {
	return Report{
		Size: w[0], Iterations: w[1],
		Peak: math.Float64frombits(w[2]), Average: math.Float64frombits(w[3]), Rate: math.Float64frombits(w[4]),
	}
}

// SwapReport exchanges what the two ends have measured.
func (c *Conn) SwapReport(own Report) (Report, error) {
	return c.swapReport(own, 0)
}

// swapReport exchanges a report of which the peer's first bytes, all zero, have
// been read.
func (c *Conn) swapReport(own Report, read int) (Report, error) {
	var words [5]uint64
	for i, word := range own.words() {
		message := binary.BigEndian.AppendUint64(nil, word)
		peer, err := c.swapRest(message, read)
		if err != nil {
			return Report{}, err
		}
		words[i], read = binary.BigEndian.Uint64(peer), 0
	}
	return reportOf(words), nil
}
