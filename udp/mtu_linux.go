package udp

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/wire"
)

const (
	ipv4HeaderSize = 20
	ipv6HeaderSize = 40
	udpHeaderSize  = 8

	// roceOverhead is the most that surrounds a payload inside a datagram: that of a
	// multi-path WRITE with immediate data. With IPv4 and UDP it makes 80 bytes, as
	// many as the RoCE driver of Linux keeps, so both choose the same path MTU.
	roceOverhead = wire.BTHLen + wire.MPDataLen + wire.RETHLen + wire.ImmDtLen + wire.ICRCLen

	// jumboPayload is what packets carry where the interface takes jumbo frames: messages of a power of two are
	// cut into packets of one size, which the kernel segments in one call.
	jumboPayload = 8192
)

// defaultPayload is what packets carry, given the most that the interface takes. Where it takes the longest of all,
// as the loopback does, packets of that length cost less than those of jumbo frames (docs/decisions/virtual-paths.md).
func defaultPayload(most int) int {
	if most == transport.MaxMPMTU {
		return most
	}
	return min(most, jumboPayload)
}

// pathMTU returns the largest payload that fits the interface which owns addr: see
// transport.ValidMPMTU.
func pathMTU(addr netip.Addr) (int, error) {
	link, err := interfaceOf(addr)
	if err != nil {
		return 0, err
	}
	mtu, err := fitPathMTU(link.MTU, addr.Unmap().Is6())
	if err != nil {
		return 0, fmt.Errorf("udp: interface %s of %v: %w", link.Name, addr, err)
	}
	return mtu, nil
}

// fitPathMTU returns the largest payload whose packets fit linkMTU bytes.
func fitPathMTU(linkMTU int, ipv6 bool) (int, error) {
	overhead := ipv4HeaderSize + udpHeaderSize + roceOverhead
	if ipv6 {
		overhead = ipv6HeaderSize + udpHeaderSize + roceOverhead
	}
	mtu := min((linkMTU-overhead)&^3, transport.MaxMPMTU)
	if mtu < transport.MinMTU {
		return 0, fmt.Errorf("%w: it is %d, set it to at least %d (ip link set … mtu)", ErrMTUTooSmall, linkMTU, transport.MinMTU+overhead)
	}
	return mtu, nil
}

// interfaceOf returns the interface that owns addr. A loopback address need not be
// listed anywhere: the whole of 127.0.0.0/8 belongs to the loopback interface.
func interfaceOf(addr netip.Addr) (*net.Interface, error) {
	links, err := net.Interfaces()
	if err != nil {
		return nil, explainFile("list the interfaces", err)
	}
	addr = addr.Unmap()
	for i := range links {
		link := &links[i]
		if addr.IsLoopback() && link.Flags&net.FlagLoopback != 0 {
			return link, nil
		}
		if addr.Zone() != "" && addr.Zone() != link.Name && addr.Zone() != fmt.Sprint(link.Index) {
			continue // a link-local address can exist on several interfaces
		}
		owned, err := link.Addrs()
		if errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) {
			return nil, explainFile("list the addresses of "+link.Name, err)
		}
		if err != nil {
			continue // the interface has just gone away
		}
		for _, o := range owned {
			prefix, err := netip.ParsePrefix(o.String())
			if err == nil && prefix.Addr().Unmap() == addr.WithZone("") {
				return link, nil
			}
		}
	}
	return nil, fmt.Errorf("udp: %w: no interface has %v; `ip addr` lists the addresses of this host", ErrNoAddress, addr)
}
