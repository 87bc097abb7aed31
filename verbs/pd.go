package verbs

import (
	"fmt"
	"net/netip"
	"sync/atomic"

	"github.com/braid-rdma/braid/transport"
)

// PD is a protection domain: queue pairs reach the memory of their own domain
// and no other.
type PD struct {
	device *Device
	id     transport.PD
	closed bool
}

// lastPD counts the domains of all devices (see transport.PD).
var lastPD atomic.Uint64

// CreatePD makes a protection domain.
func (d *Device) CreatePD() (*PD, error) {
	if err := d.lock(); err != nil {
		return nil, err
	}
	defer d.unlock()
	if len(d.pds) >= MaxPDs {
		return nil, fmt.Errorf("%w: %d protection domains", ErrLimit, MaxPDs)
	}
	pd := &PD{device: d, id: transport.PD(lastPD.Add(1))}
	d.pds[pd.id] = pd
	return pd, nil
}

// Device is the device of the domain.
func (p *PD) Device() *Device { return p.device }

// CreateAH makes a handle for a datagram destination.
func (p *PD) CreateAH(destination netip.Addr) (AH, error) {
	if err := p.lock(); err != nil {
		return 0, err
	}
	defer p.device.unlock()
	return p.device.engine.Addresses().create(destination, p)
}

// DestroyAH forgets a handle that CreateAH made. Datagrams that were posted to
// it and not yet sent are dropped.
func (p *PD) DestroyAH(h AH) {
	p.device.lockAll()
	defer p.device.unlock()
	p.device.engine.Addresses().destroy(h)
}

// AddrOf is the address of a handle, such as the source of a datagram.
func (p *PD) AddrOf(h AH) (netip.Addr, error) {
	first := p.device.first()
	first.Lock()
	defer first.Unlock()
	addr, ok := first.Addresses().Addr(h)
	if !ok {
		return netip.Addr{}, fmt.Errorf("%w: %d", ErrAddress, h)
	}
	return addr, nil
}

// SourcesOf stores the addresses that datagrams came from, for as many
// completions as sources has room for. The zero Addr stands for one that the
// device has forgotten.
func (p *PD) SourcesOf(completions []Completion, sources []netip.Addr) {
	first := p.device.first()
	first.Lock()
	defer first.Unlock()
	table := first.Addresses()
	for i := range completions[:min(len(completions), len(sources))] {
		sources[i], _ = table.Addr(completions[i].Source)
	}
}

// Close closes the domain, its queue pairs and shared receive queues, deregisters
// its memory and forgets its address handles.
func (p *PD) Close() error {
	p.device.lockAll()
	defer p.device.unlock()
	p.closeLocked()
	return nil
}

func (p *PD) closeLocked() {
	p.closed = true
	delete(p.device.pds, p.id)
	for _, q := range p.device.sortedQPs() {
		if q.pd == p {
			q.closeLocked()
		}
	}
	for s := range p.device.srqs {
		if s.pd == p {
			s.closeLocked()
		}
	}
	for _, m := range p.device.memory.regions {
		if m.pd == p {
			_ = m.deregisterLocked() // closing goes on; Deregister is who returns it
		}
	}
	p.device.engine.Addresses().destroyAll(p)
}

// lock takes the locks of all loops, unless the domain or its device is closed.
func (p *PD) lock() error {
	if err := p.device.lock(); err != nil {
		return err
	}
	if p.closed {
		p.device.unlock()
		return errPDClosed
	}
	return nil
}

var errPDClosed = fmt.Errorf("protection domain: %w", ErrClosed)
