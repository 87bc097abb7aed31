package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// The tables and rules of routes that are for certain sources only.
const firstTable = 100

// build makes everything of the plan, which does not exist yet.
func (n *Network) build(ctx context.Context) error {
	for i := range n.Nodes {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if err := n.buildNode(&n.Nodes[i]); err != nil {
			return err
		}
	}
	for i := range n.Links {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if err := n.buildLink(i); err != nil {
			return fmt.Errorf("link %s-%s: %w", n.Links[i].Lower.Node, n.Links[i].Upper.Node, err)
		}
	}
	if err := n.buildRoutes(); err != nil {
		return err
	}
	if err := n.buildPorts(); err != nil {
		return err
	}
	return n.describe()
}

// buildNode makes a namespace and its settings.
func (n *Network) buildNode(node *Node) error {
	if err := createNamespace(n.Namespace(node.Name)); err != nil {
		return err
	}
	settings := [][2]string{{"net.ipv4.conf.all.rp_filter", "0"}, {"net.ipv4.conf.default.rp_filter", "0"}}
	if node.Role != Host {
		settings = append(settings,
			[2]string{"net.ipv4.ip_forward", "1"},
			// The hash that chooses a path covers ports, as a switch's does.
			[2]string{"net.ipv4.fib_multipath_hash_policy", "1"})
	}
	return inside(n.Namespace(node.Name), func() error {
		for _, s := range settings {
			if err := setSysctl(s[0], s[1]); err != nil {
				return err
			}
		}
		// The lab has no use for IPv6, whose own messages would only blur the
		// counters; a kernel without it is as good.
		if err := setSysctl("net.ipv6.conf.all.disable_ipv6", "1"); err != nil && !errors.Is(err, ErrFeature) {
			return err
		}
		return nil
	})
}

// buildLink makes a veth pair with addresses. Each end knows the other's
// hardware address for good: nothing ever asks for it, so a path that is cut
// stays silent and is not noticed by the kernel.
func (n *Network) buildLink(number int) error {
	link := &n.Links[number]
	upper, err := netns.GetFromName(n.Namespace(link.Upper.Node))
	if err != nil {
		return err
	}
	defer upper.Close()
	attributes := netlink.NewLinkAttrs()
	attributes.Name, attributes.MTU = link.Lower.Name, n.Options.MTU
	attributes.HardwareAddr = hardwareAddress(number, 0)
	veth := netlink.NewVeth(attributes)
	veth.PeerName, veth.PeerHardwareAddr = link.Upper.Name, hardwareAddress(number, 1)
	veth.PeerNamespace, veth.PeerMTU = netlink.NsFd(upper), uint32(n.Options.MTU)
	err = n.at(link.Lower.Node, func(h *netlink.Handle) error {
		if err := h.LinkAdd(veth); err != nil {
			return explain(err, "creating a veth pair", "veth (CONFIG_VETH)")
		}
		return setUpPort(h, link.Lower, link.Upper.Addr.Addr(), hardwareAddress(number, 1))
	})
	if err != nil {
		return err
	}
	return n.at(link.Upper.Node, func(h *netlink.Handle) error {
		return setUpPort(h, link.Upper, link.Lower.Addr.Addr(), hardwareAddress(number, 0))
	})
}

// setUpPort gives a port its address and its neighbour.
func setUpPort(h *netlink.Handle, port Port, peer netip.Addr, peerHardware net.HardwareAddr) error {
	link, err := h.LinkByName(port.Name)
	if err != nil {
		return err
	}
	if err := h.AddrAdd(link, &netlink.Addr{IPNet: ipNet(port.Addr)}); err != nil {
		return explain(err, "adding an address", "IPv4")
	}
	if err := h.LinkSetUp(link); err != nil {
		return err
	}
	return h.NeighSet(&netlink.Neigh{
		LinkIndex: link.Attrs().Index, State: netlink.NUD_PERMANENT, Family: unix.AF_INET,
		IP: peer.AsSlice(), HardwareAddr: peerHardware,
	})
}

// buildRoutes adds the hosts' further addresses, and all routes.
func (n *Network) buildRoutes() error {
	for i := range n.Nodes {
		node := &n.Nodes[i]
		err := n.at(node.Name, func(h *netlink.Handle) error {
			for _, further := range node.further() {
				link, err := h.LinkByName("eth0")
				if err != nil {
					return err
				}
				if err := h.AddrAdd(link, &netlink.Addr{IPNet: ipNet(netip.PrefixFrom(further, 32))}); err != nil {
					return err
				}
			}
			return addRoutes(h, n.Routes, node.Name)
		})
		if err != nil {
			return fmt.Errorf("routes of %s: %w", node.Name, err)
		}
	}
	return nil
}

// addRoutes adds the routes of a node. Those for certain sources stand in tables
// of their own, one for each source.
func addRoutes(h *netlink.Handle, routes []Route, node string) error {
	tables := map[netip.Prefix]int{}
	for i := range routes {
		r := &routes[i]
		if r.Node != node {
			continue
		}
		route := &netlink.Route{Dst: ipNet(r.Destination), Src: r.Prefer.AsSlice()}
		if r.Source.IsValid() {
			table, known := tables[r.Source]
			if !known {
				table = firstTable + len(tables)
				tables[r.Source] = table
				if err := addRule(h, r.Source, table); err != nil {
					return err
				}
			}
			route.Table = table
		}
		if len(r.Gateways) == 1 {
			route.Gw = r.Gateways[0].AsSlice()
		} else {
			for _, gateway := range r.Gateways {
				route.MultiPath = append(route.MultiPath, &netlink.NexthopInfo{Gw: gateway.AsSlice()})
			}
		}
		if err := h.RouteAdd(route); err != nil {
			return explain(err, fmt.Sprintf("route to %v", r.Destination), "multipath routes (CONFIG_IP_ROUTE_MULTIPATH)")
		}
	}
	return nil
}

func addRule(h *netlink.Handle, source netip.Prefix, table int) error {
	rule := netlink.NewRule()
	rule.Src, rule.Table, rule.Priority = ipNet(source), table, table
	rule.Family = unix.AF_INET
	return explain(h.RuleAdd(rule), "routing by source", "policy routing (CONFIG_IP_MULTIPLE_TABLES)")
}

// hardwareAddress numbers the ends of the links, in the range for local use.
func hardwareAddress(link, end int) net.HardwareAddr {
	return net.HardwareAddr{0x02, 0xb4, 0x1d, byte(link >> 8), byte(link), byte(end)}
}

func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), 32)}
}
