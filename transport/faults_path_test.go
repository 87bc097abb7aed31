package transport

import "testing"

var pathRows = []faultRow{
	{"row35_path_blackhole", func(t *testing.T) { testBlackhole(t, -1) }},
	{"row36_one_way_blackhole", func(t *testing.T) {
		testBlackhole(t, 0) // data dies
		testBlackhole(t, 1) // acknowledgements die
	}},
}

const (
	cutAt      = 200 * Millisecond
	healAt     = 600 * Millisecond
	slowRate   = 400.0 // ns per byte: 20 Mb/s a path, to keep the run short
	sampleTime = 10 * Millisecond
)

// pathSamples are the bytes that had reached B, in all and by the path that was
// cut, at regular times.
type pathSamples struct {
	bytes []uint64
	cut   []uint64 // packets of A by the cut path
	sent  []uint64 // packets of A
	stall Time
}

func (s *pathSamples) rate(from, to Time) float64 {
	return float64(s.bytes[to/sampleTime]-s.bytes[from/sampleTime]) / float64(to-from)
}

// testBlackhole cuts one of four paths, in one direction or both, and heals it.
// Of what is left at least 95 % is used within 100 ms, the stall is at most
// three timeouts, nobody sees an error, and a second after it was healed the
// path carries its share.
func testBlackhole(t *testing.T, direction int) {
	sc := bulk(170, 100000)
	sc.setLinks(linkSpec{delay: faultRTT / 2, nsPerByte: slowRate, markAbove: 20 * Millisecond})
	sc.faults = []*fault{{from: cutAt, until: healAt, host: direction, paths: []int{1}}}
	var s pathSamples
	w := mustRun(t, sc, func(w *world) { s.watch(w) })
	before := s.rate(100*Millisecond, cutAt)
	left := before * 3 / 4
	after := s.rate(cutAt+100*Millisecond, healAt)
	restored := s.rate(healAt+Second, healAt+Second+200*Millisecond)
	last := len(s.sent) - 1
	from := int((healAt + Second) / sampleTime)
	share := float64(s.cut[last]-s.cut[from]) / float64(s.sent[last]-s.sent[from])
	c := w.hosts[0].qp.Counters()
	t.Logf("direction %d: %.4f bytes/ns before, %.4f cut, %.4f restored; longest stall %v; share %.2f; retired %d restored %d", direction, before, after, restored, s.stall, share, c.PathsRetired, c.PathsRestored)
	if after < 0.95*left {
		t.Errorf("direction %d: %.3f of what was left is used", direction, after/left)
	}
	if limit := 3 * Time(sc.mp.MinRTO); s.stall > limit {
		t.Errorf("direction %d: stalled for %v", direction, s.stall)
	}
	if restored < 0.95*before || share < 0.15 {
		t.Errorf("direction %d: %.3f of before is used after healing; the path carries %.2f", direction, restored/before, share)
	}
}

func (s *pathSamples) watch(w *world) {
	last, seen := w.now, uint64(0)
	w.onStep = func(w *world) {
		n := w.hosts[1].qp.Counters().BytesReceived
		if n != seen {
			seen, last = n, w.now
		}
		s.stall = max(s.stall, w.now-last)
		for Time(len(s.bytes))*sampleTime <= w.now-Second {
			s.bytes = append(s.bytes, n)
			s.cut = append(s.cut, w.hosts[0].mp.Paths()[1].Sent)
			s.sent = append(s.sent, w.hosts[0].mp.count.PacketsSent)
		}
	}
}
