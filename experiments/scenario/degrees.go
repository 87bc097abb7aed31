package scenario

import (
	"sync/atomic"

	"github.com/braid-rdma/braid/internal/statistics"
	"github.com/braid-rdma/braid/transport"
)

// Degrees counts packets by their out-of-order degree.
type Degrees struct {
	// Threads count together; sums do not depend on their order.
	counts [transport.MaxTrackingSlots + 1]atomic.Uint64
}

func (d *Degrees) add(degree int) {
	d.counts[min(max(degree, 0), len(d.counts)-1)].Add(1)
}

// Counts lists the packets of each degree, from 0 (in order) to the highest seen.
func (d *Degrees) Counts() []uint64 {
	var counts []uint64
	for degree := range d.counts {
		if n := d.counts[degree].Load(); n > 0 {
			counts = append(counts, make([]uint64, degree+1-len(counts))...)
			counts[degree] = n
		}
	}
	return counts
}

// Quantile is the degree that the given fraction of the packets does not exceed.
func (d *Degrees) Quantile(fraction float64) int {
	return statistics.CountQuantile(d.Counts(), fraction)
}
