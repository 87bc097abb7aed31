package udp

import "github.com/braid-rdma/braid/verbs"

// StatsOf returns the statistics of a device that this package opened; ok is
// false for a device of another engine.
func StatsOf(d *verbs.Device) (s Stats, ok bool) {
	engines := enginesOf(d)
	for _, e := range engines {
		e.mu.Lock()
		of := e.statistics()
		e.mu.Unlock()
		s.add(&of)
	}
	return s, len(engines) > 0
}

// Counters implements verbs.Counted.
func (e *engine) Counters() map[string]uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.statistics()
	return s.Map()
}

// statistics are those of this moment; the lock is held.
func (e *engine) statistics() Stats {
	s := e.stats
	s.Loops = 1
	if e.died {
		s.LoopsDied = 1
	}
	s.IdleRounds = uint64(e.idle.Load())
	s.SharedSourcePorts = e.pool.shared
	for _, a := range e.addrs {
		if g := a.group; g != nil && !e.part.further {
			s.SharingDevices += uint64(g.others())
		} else if g == nil && a.management == nil {
			s.SharedManagement++
		}
	}
	for _, socket := range e.pool.opened {
		s.Paths = append(s.Paths, make([]PathStats, max(0, socket.source+1-len(s.Paths)))...)
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
		s.Paths[socket.source] = p
	}
	return s
}

// SourcePortOf is the UDP source port from which a device that this package opened sends on a virtual path
// (and opens it, if nothing was sent there yet); 0 for a device of another engine. A multi-path connection
// may have moved a path to another port since (Config.SourcePorts), and further loops have ports of their own.
func SourcePortOf(d *verbs.Device, path int) uint16 {
	e, ok := d.Engine().(*engine)
	if !ok || path < 0 {
		return 0
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed.Load() {
		return 0
	}
	return e.pool.socket(path % e.cfg.Paths).local.Port()
}
