package udp

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"

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
)

// pathMTUs are the sizes that InfiniBand allows, the largest first.
var pathMTUs = [...]int{4096, 2048, 1024, 512, 256}

// pathMTU returns the largest RoCE path MTU that fits the interface which owns addr.
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

// fitPathMTU returns the largest RoCE path MTU whose packets fit linkMTU bytes.
func fitPathMTU(linkMTU int, ipv6 bool) (int, error) {
	overhead := ipv4HeaderSize + udpHeaderSize + roceOverhead
	if ipv6 {
		overhead = ipv6HeaderSize + udpHeaderSize + roceOverhead
	}
	for _, mtu := range pathMTUs {
		if mtu+overhead <= linkMTU {
			return mtu, nil
		}
	}
	smallest := pathMTUs[len(pathMTUs)-1]
	return 0, fmt.Errorf("%w: it is %d, set it to at least %d (ip link set … mtu)", ErrMTUTooSmall, linkMTU, smallest+overhead)
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
