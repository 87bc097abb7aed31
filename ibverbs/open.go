//go:build ibverbs && linux && cgo

package ibverbs

// #include "glue.h"
// #include <stdlib.h>
// #cgo LDFLAGS: -libverbs
import "C"

import (
	"errors"
	"fmt"
	"net/netip"
	"unsafe"

	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

// Open opens a device of libibverbs.
func Open(cfg Config) (*verbs.Device, error) {
	if cfg.DSCP > maxDSCP {
		return nil, fmt.Errorf("ibverbs: DSCP %d is above %d", cfg.DSCP, maxDSCP)
	}
	if cfg.Spin == 0 {
		cfg.Spin = defaultSpin
	}
	if cfg.ManagementPort == 0 {
		cfg.ManagementPort = defaultManagementPort
	}
	a, err := findAdapter(&cfg)
	if err != nil {
		return nil, err
	}
	e, err := newEngine(cfg, a)
	if err != nil {
		C.ibv_close_device(a.context)
		return nil, err
	}
	return verbs.Open(e), nil
}

// adapter is an open device, and the port and GID of it that are used.
type adapter struct {
	context    *C.struct_ibv_context
	port       C.uint8_t
	gidIndex   C.uint8_t
	local      netip.Addr
	mtu        int
	maxMessage uint32
	limits     C.struct_ibv_device_attr
}

// findAdapter opens the first device that has what the configuration asks for.
func findAdapter(cfg *Config) (*adapter, error) {
	var count C.int
	list, err := C.ibv_get_device_list(&count)
	if list == nil {
		return nil, fmt.Errorf("%w: this system has none: %w", ErrNoDevice, err)
	}
	defer C.ibv_free_device_list(list)
	var failures []error
	for _, device := range unsafe.Slice(list, count) {
		name := C.GoString(C.ibv_get_device_name(device))
		if cfg.Device != "" && cfg.Device != name {
			continue
		}
		a, err := openAdapter(device, cfg.Addr)
		if err == nil {
			return a, nil
		}
		failures = append(failures, fmt.Errorf("%s: %w", name, err))
	}
	return nil, fmt.Errorf("%w: name %q, address %v, among %d devices: %w", ErrNoDevice, cfg.Device, cfg.Addr, count, errors.Join(failures...))
}

// openAdapter opens a device that has a RoCEv2 GID of an address, or of any address if
// that is the zero Addr.
func openAdapter(device *C.struct_ibv_device, want netip.Addr) (*adapter, error) {
	context, err := C.ibv_open_device(device)
	if context == nil {
		return nil, err
	}
	a := &adapter{context: context}
	if err := a.describe(want); err != nil {
		C.ibv_close_device(context)
		return nil, err
	}
	return a, nil
}

func (a *adapter) describe(want netip.Addr) error {
	if err := a.findGID(want.Unmap()); err != nil {
		return err
	}
	if code := C.ibv_query_device(a.context, &a.limits); code != 0 {
		return explain("query the device", code)
	}
	var port C.struct_ibv_port_attr
	if code := C.braid_query_port(a.context, a.port, &port); code != 0 {
		return explain("query the port", code)
	}
	if port.state != C.IBV_PORT_ACTIVE {
		return fmt.Errorf("port %d is not active", a.port)
	}
	a.mtu = mtuOf(port.active_mtu)
	a.maxMessage = uint32(min(uint64(port.max_msg_sz), transport.MaxMessage))
	return nil
}

// findGID finds the entry of the GID table by which packets get the address as their
// source, and UDP as their protocol. Without an address it takes the first one that is
// not link-local, since of those the interface would have to be known.
func (a *adapter) findGID(want netip.Addr) error {
	entries := make([]C.struct_ibv_gid_entry, maxGIDs)
	count, err := C.braid_gids(a.context, &entries[0], maxGIDs)
	if count < 0 {
		return fmt.Errorf("read the GID table: %w", err)
	}
	for _, entry := range entries[:count] {
		addr := netip.AddrFrom16(entry.gid).Unmap()
		if entry.gid_type != C.IBV_GID_TYPE_ROCE_V2 || (want.IsValid() && addr != want.WithZone("")) {
			continue
		}
		if !want.IsValid() && addr.IsLinkLocalUnicast() {
			continue
		}
		a.port, a.gidIndex, a.local = C.uint8_t(entry.port_num), C.uint8_t(entry.gid_index), addr
		return nil
	}
	if !want.IsValid() {
		return errors.New("no RoCEv2 GID")
	}
	return fmt.Errorf("no RoCEv2 GID of %v", want)
}

// explain is an error number of libibverbs as an error.
func explain(what string, code C.int) error {
	return fmt.Errorf("ibverbs: %s: %w", what, errno(code))
}
