//go:build ibverbs && linux && cgo

package ibverbs

// #include "glue.h"
import "C"

import (
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"syscall"
	"unsafe"

	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

// domain is a protection domain of the NIC. It is made for the first object of the
// domain that verbs has, and freed with the last.
type domain struct {
	engine  *engine
	number  transport.PD
	pd      *C.struct_ibv_pd
	objects int
	regions map[*transport.Region]*registered
	ahs     map[netip.Addr]*C.struct_ibv_ah
}

// registered is memory that the NIC knows.
type registered struct {
	mr  *C.struct_ibv_mr
	pin runtime.Pinner
}

// enter counts an object of a domain, which leave takes back.
func (e *engine) enter(number transport.PD) (*domain, error) {
	d := e.domains[number]
	if d == nil {
		pd, err := C.ibv_alloc_pd(e.adapter.context)
		if pd == nil {
			return nil, fmt.Errorf("ibverbs: create a protection domain: %w", err)
		}
		d = &domain{
			engine: e, number: number, pd: pd,
			regions: make(map[*transport.Region]*registered), ahs: make(map[netip.Addr]*C.struct_ibv_ah),
		}
		e.domains[number] = d
	}
	d.objects++
	return d, nil
}

func (d *domain) leave() {
	if d.objects--; d.objects > 0 {
		return
	}
	delete(d.engine.domains, d.number)
	for _, ah := range d.ahs {
		C.ibv_destroy_ah(ah)
	}
	C.ibv_dealloc_pd(d.pd)
}

// Register implements verbs.NIC.
func (e *engine) Register(r *transport.Region) error {
	if r.Access&verbs.RemoteInvalidate != 0 {
		return fmt.Errorf("ibverbs: RemoteInvalidate: %w: it needs memory windows", errors.ErrUnsupported)
	}
	d, err := e.enter(r.PD)
	if err != nil {
		return err
	}
	m := &registered{}
	m.pin.Pin(unsafe.SliceData(r.Bytes))
	m.mr, err = C.braid_register(d.pd, C.uintptr_t(r.Base), C.size_t(r.Length), accessOf(r.Access))
	if m.mr == nil {
		m.pin.Unpin()
		d.leave()
		if errors.Is(err, syscall.ENOMEM) {
			err = fmt.Errorf("%w: more than may be locked? see ulimit -l", verbs.ErrNoMemory)
		}
		return fmt.Errorf("ibverbs: register %d bytes: %w", r.Length, err)
	}
	r.LKey, r.RKey = transport.LKey(m.mr.lkey), verbs.RKey(m.mr.rkey)
	d.regions[r] = m
	return nil
}

// Deregister implements verbs.NIC. Memory that the NIC does not give back stays pinned.
func (e *engine) Deregister(r *transport.Region) error {
	d := e.domains[r.PD]
	if d == nil || d.regions[r] == nil {
		return nil
	}
	m := d.regions[r]
	if code := C.ibv_dereg_mr(m.mr); code != 0 {
		return explain("deregister memory", code)
	}
	delete(d.regions, r)
	m.pin.Unpin()
	d.leave()
	return nil
}

// ah is the NIC's handle of an address. It is kept, since the next datagram will often
// go there too.
func (d *domain) ah(to netip.Addr) (*C.struct_ibv_ah, error) {
	if ah := d.ahs[to]; ah != nil {
		return ah, nil
	}
	if len(d.ahs) >= maxAHs {
		return nil, fmt.Errorf("%w: %d addresses of datagrams", verbs.ErrLimit, maxAHs)
	}
	attr := d.engine.addressOf(to)
	ah, err := C.ibv_create_ah(d.pd, &attr)
	if ah == nil {
		return nil, fmt.Errorf("ibverbs: create an address handle of %v: %w", to, err)
	}
	d.ahs[to] = ah
	return ah, nil
}

// addressOf is the way to a peer, as the NIC has it.
func (e *engine) addressOf(to netip.Addr) C.struct_ibv_ah_attr {
	var attr C.struct_ibv_ah_attr
	attr.is_global = 1
	attr.port_num = e.adapter.port
	attr.grh.dgid = gidOf(to)
	attr.grh.sgid_index = e.adapter.gidIndex
	attr.grh.hop_limit = hopLimit
	attr.grh.traffic_class = C.uint8_t(e.cfg.DSCP << 2)
	return attr
}
