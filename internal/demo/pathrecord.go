package demo

import (
	"time"

	"github.com/braid-rdma/braid/verbs"
)

// pathRecord is what the paths delivered over time.
type pathRecord struct {
	keep     bool // samples are wanted: after the restoration
	samples  []sample
	nextLook time.Time

	rateFrom time.Time
	rateBase []verbs.PathStats
	first    []verbs.PathStats
}

func (p *pathRecord) begin(now time.Time, stats []verbs.PathStats) {
	p.nextLook, p.rateFrom, p.rateBase, p.first = now, now, stats, stats
}

// look takes a sample, and tells of the rates, when either is due.
func (p *pathRecord) look(s *stream, now time.Time) {
	if now.Before(p.nextLook) {
		return
	}
	p.nextLook = now.Add(sampleInterval)
	telling := now.Sub(p.rateFrom) >= rateInterval
	if !p.keep && !telling {
		return
	}
	stats := s.qp.PathStats()
	if p.keep {
		taken := sample{at: now, delivered: make([]uint64, len(stats))}
		for i := range stats {
			taken.delivered[i] = stats[i].Acknowledged
		}
		p.samples = append(p.samples, taken)
	}
	if !telling {
		return
	}
	e := Event{Kind: PathRates, Since: now.Sub(s.start), Cut: -1}
	if s.schedule.stage == stageCut {
		e.Cut = s.config.CutPath
	}
	for i := range stats {
		e.Gbps = append(e.Gbps, pathRate(&p.rateBase[i], &stats[i], now.Sub(p.rateFrom)))
	}
	p.rateFrom, p.rateBase = now, stats
	s.announcer.tell(e)
}

// pathRate is what a path delivered between two looks, in Gb/s: the packets
// known to have arrived, at the size of those that it sent.
func pathRate(from, to *verbs.PathStats, d time.Duration) float64 {
	if to.Sent == 0 {
		return 0
	}
	perPacket := float64(to.Bytes) / float64(to.Sent)
	return gbps(float64(to.Acknowledged-from.Acknowledged)*perPacket, d)
}
