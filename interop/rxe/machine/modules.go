package machine

import (
	"bytes"
	"debug/elf"
	"fmt"
	"strings"
)

// wantedModules are the parts of the kernel that the machine needs and that
// Debian builds as modules. rdma_rxe asks for CRC-32 by name when a device is
// added, which no dependency tells.
var wantedModules = []string{
	"virtio", "virtio_ring", "virtio_pci_modern_dev", "virtio_pci_legacy_dev", "virtio_pci",
	"failover", "net_failover", "virtio_net",
	"crc32_generic", "crc32-pclmul", "udp_tunnel", "ip6_udp_tunnel",
	"configfs", "ib_core", "ib_uverbs", "rdma_rxe",
	"ib_cm", "iw_cm", "rdma_cm", "rdma_ucm",
}

// moduleOrder sorts modules, given by name and contents, so that each comes
// after those that it depends on.
func moduleOrder(modules map[string][]byte) ([]string, error) {
	byName := map[string]string{} // the kernel takes - and _ as the same
	for name := range modules {
		byName[canonical(name)] = name
	}
	var order []string
	seen := map[string]bool{}
	var visit func(name, neededBy string) error
	visit = func(name, neededBy string) error {
		own, have := byName[canonical(name)]
		if !have {
			return fmt.Errorf("%w: %s needs the kernel's module %s", ErrImage, neededBy, name)
		}
		if seen[own] {
			return nil
		}
		seen[own] = true
		needed, err := dependencies(modules[own])
		if err != nil {
			return fmt.Errorf("%w: module %s: %w", ErrImage, own, err)
		}
		for _, dependency := range needed {
			if err := visit(dependency, own); err != nil {
				return err
			}
		}
		order = append(order, own)
		return nil
	}
	for _, name := range wantedModules {
		if err := visit(name, "the machine"); err != nil {
			return nil, err
		}
	}
	return order, nil
}

func canonical(name string) string { return strings.ReplaceAll(name, "-", "_") }

// dependencies are the modules that a module names in its description.
func dependencies(module []byte) ([]string, error) {
	object, err := elf.NewFile(bytes.NewReader(module))
	if err != nil {
		return nil, err
	}
	section := object.Section(".modinfo")
	if section == nil {
		return nil, fmt.Errorf("no description")
	}
	description, err := section.Data()
	if err != nil {
		return nil, err
	}
	for _, entry := range bytes.Split(description, []byte{0}) {
		if list, ok := bytes.CutPrefix(entry, []byte("depends=")); ok && len(list) > 0 {
			return strings.Split(string(list), ","), nil
		}
	}
	return nil, nil
}
