package udp

import "github.com/braid-rdma/braid/verbs"

// StatsOf returns the statistics of a device that this package opened; ok is
// false for a device of another engine.
func StatsOf(d *verbs.Device) (s Stats, ok bool) {
	e, ok := d.Engine().(*engine)
	if !ok {
		return Stats{}, false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	s = e.stats
	s.IdleRounds = uint64(e.idle.Load())
	for _, socket := range e.pool.sockets {
		t := &socket.stats
		p := PathStats{
			SourcePort: socket.local.Port(), Packets: t.packets, Bytes: t.bytes, Messages: t.messages, Calls: t.calls,
			Dropped: t.dropped, WouldBlock: t.wouldBlock, SegmentationUsed: socket.gso,
		}
		for _, n := range t.failures {
			p.Errors += n
		}
		if t.lastErr != 0 {
			p.LastError = t.lastErr.Error()
		}
		s.Paths = append(s.Paths, p)
	}
	return s, true
}
