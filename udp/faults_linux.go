package udp

import (
	"encoding/binary"
	"math/rand/v2"

	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

// Faults is a filter in a device's engines that loses and damages packets on purpose,
// so that programs can show and test what happens when a path fails. It is
// silent: the transport learns of a cut only by what does not arrive.
type Faults struct{ engines []*engine }

// faults is the filter of one engine.
type faults struct {
	active     bool
	outOnly    bool
	loss       [transport.MaxPaths]float64
	corruption [transport.MaxPaths]float64
}

// FaultsOf returns the filter of a device that this package opened, or nil.
func FaultsOf(d *verbs.Device) *Faults {
	if engines := enginesOf(d); len(engines) > 0 {
		return &Faults{engines}
	}
	return nil
}

// Cut drops every packet of a path in both directions.
func (f *Faults) Cut(path int) { f.SetLoss(path, 1) }

// Restore ends a fault of a path.
func (f *Faults) Restore(path int) { f.SetLoss(path, 0) }

// SetLoss drops a fraction of a path's packets, in both directions.
func (f *Faults) SetLoss(path int, fraction float64) {
	if path >= 0 && path < transport.MaxPaths {
		f.change(func(f *faults) { f.loss[path] = fraction })
	}
}

// SetCorruption damages a fraction of the packets that leave by a path: one bit
// of each differs at the receiver.
func (f *Faults) SetCorruption(path int, fraction float64) {
	if path >= 0 && path < transport.MaxPaths {
		f.change(func(f *faults) { f.corruption[path] = fraction })
	}
}

// OutOnly restricts the loss to what leaves, as in a network that is broken in one direction.
func (f *Faults) OutOnly(on bool) { f.change(func(f *faults) { f.outOnly = on }) }

func (f *Faults) change(by func(*faults)) {
	for _, e := range f.engines {
		e.mu.Lock()
		by(&e.faults)
		e.faults.note()
		e.mu.Unlock()
	}
}

// note finds out whether there is any fault at all.
func (f *faults) note() {
	f.active = false
	for path := range f.loss {
		f.active = f.active || f.loss[path] > 0 || f.corruption[path] > 0
	}
}

// damage flips a bit at the end of a packet that is to leave by a path, if it
// is that packet's turn. The check value is there already, so the receiver
// finds out.
func (f *faults) damage(e *engine, path int, tail []byte) {
	if f.corruption[path] == 0 || rand.Float64() >= f.corruption[path] {
		return
	}
	tail[rand.IntN(len(tail))] ^= 1 << rand.IntN(8)
	e.stats.FaultDamaged++
}

// drops decides about a packet that is to leave by a path.
func (f *faults) drops(e *engine, path int) bool {
	if !f.active || f.loss[path] == 0 || rand.Float64() >= f.loss[path] {
		return false
	}
	e.stats.FaultDropped++
	return true
}

// dropsArrival decides about a packet that arrived: a multi-path packet names
// its path, and an acknowledgement comes back by the path that it echoes.
func (f *faults) dropsArrival(e *engine, p *transport.Packet) bool {
	path, ok := p.VirtualPath()
	if !ok || f.outOnly {
		return false
	}
	return f.drops(e, int(path)%e.cfg.Paths)
}

// dropsProbe decides about a probe that arrived, as about the packets whose way it tries.
func (f *faults) dropsProbe(e *engine, p *port, payload []byte) bool {
	if !f.active || f.outOnly || !p.mp || len(payload) < 2 {
		return false
	}
	return f.drops(e, int(binary.BigEndian.Uint16(payload))%e.cfg.Paths)
}
