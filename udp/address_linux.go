package udp

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

// A device that was opened without an address begins with a loopback address of
// its own. It takes a further address of the host when a connection needs it, the
// one that the route to the peer has, and all of them when it listens.

// address is a local address of the device: the socket that receives there, and
// what the check of its packets has computed.
type address struct {
	ip netip.Addr
	rx *rxSocket
	// management receives what is for queue pair 1, or is nil: then rx does.
	management *rxSocket
	// group is of the devices that have the address, or may have; nil: no other can.
	group   *group
	mtu     int // the largest payload of an MP packet that the interface carries
	checker checker
}

const (
	// coldRounds and coldEvery keep addresses that nothing arrives at from slowing
	// the others down: after so many rounds in vain a socket is read in every
	// coldEvery-th round only, which delays its first packet by a microsecond or two.
	coldRounds = 4096
	coldEvery  = 16
)

// openAddress opens the receiving socket of an address, or joins the devices that have it. When the one that
// leads them has just gone it takes a moment until another does.
func openAddress(cfg *Config, p part, ip netip.Addr, services []uint64) (a *address, err error) {
	for pause := time.Millisecond; ; pause *= 2 {
		a, err = openFirst(cfg, p, ip, services)
		if !errors.Is(err, ErrPortInUse) {
			return a, err
		}
		if a, err = joinAddress(cfg, p, ip, services, err); !errors.Is(err, errNoLeader) || pause > 8*time.Millisecond {
			return a, err
		}
		time.Sleep(pause)
	}
}

// openFirst opens an address that no other device has.
func openFirst(cfg *Config, p part, ip netip.Addr, services []uint64) (*address, error) {
	rx, err := openRx(netip.AddrPortFrom(ip, cfg.Port), cfg.rxOptions())
	if err != nil {
		return nil, err
	}
	a, err := newAddress(cfg, ip, rx)
	if err == nil {
		a.admitOthers(cfg, p, services, cfg.Exclusive)
	}
	return a, err
}

// admitOthers lets other devices join at an address, or only the loops of this one.
func (a *address) admitOthers(cfg *Config, p part, services []uint64, kinOnly bool) {
	if a.management == nil || kinOnly && cfg.Loops == 1 {
		return
	}
	if a.group = newGroup(a.rx.local, p, cfg.rxOptions(), services); a.group != nil {
		a.group.kinOnly = kinOnly
	}
}

// joinAddress shares an address with the device that has it, if that is another of braid and of the same user.
func joinAddress(cfg *Config, p part, ip netip.Addr, services []uint64, inUse error) (*address, error) {
	if cfg.Exclusive && !p.further {
		return nil, inUse
	}
	g, err := joinGroup(netip.AddrPortFrom(ip, cfg.Port), p, cfg.rxOptions(), services)
	if err != nil {
		return nil, fmt.Errorf("%w; nor can it be shared: %w", inUse, err)
	}
	rx, err := g.socketOf(g.seat)
	if err != nil {
		g.close()
		return nil, err
	}
	a, err := addressOf(cfg, ip, rx)
	if err != nil {
		g.close()
		return nil, err
	}
	a.group = g
	return a, nil
}

// newAddress makes an address of its first socket, and closes that if it fails.
func newAddress(cfg *Config, ip netip.Addr, rx *rxSocket) (*address, error) {
	a, err := addressOf(cfg, ip, rx)
	if err == nil {
		a.management = openManagement(rx, cfg.rxOptions())
	}
	return a, err
}

// addressOf makes an address of a socket, and closes that if it fails.
func addressOf(cfg *Config, ip netip.Addr, rx *rxSocket) (*address, error) {
	mtu, err := pathMTU(ip)
	if err == nil && cfg.MTU > mtu && cfg.Addr.IsValid() {
		err = fmt.Errorf("udp: path MTU %d does not fit the interface of %v: the largest is %d", cfg.MTU, ip, mtu)
	}
	if err != nil {
		_ = rx.close()
		return nil, err
	}
	mtu = min(mtu, cmp.Or(cfg.MTU, defaultPayload(mtu)))
	a := &address{ip: ip, rx: rx, mtu: mtu}
	a.checker.init(ip, cfg.Port, cfg.AnyIPID)
	return a, nil
}

func (c *Config) rxOptions() rxOptions {
	return rxOptions{rcvbuf: c.RecvBuffer, noGRO: c.NoSegmentation}
}

// anywhere says whether the device may take addresses of the host as it needs them.
func (e *engine) anywhere() bool { return !e.cfg.Addr.IsValid() }

// held returns the device's address with these bytes, or nil.
func (e *engine) held(ip netip.Addr) *address {
	for _, a := range e.addrs {
		if a.ip == ip {
			return a
		}
	}
	return nil
}

// take makes the device reachable at one more address.
func (e *engine) take(ip netip.Addr) (*address, error) {
	if a := e.held(ip); a != nil {
		return a, nil
	}
	if len(e.addrs) >= maxAddresses {
		return nil, fmt.Errorf("udp: %w: %d local addresses", verbs.ErrLimit, len(e.addrs))
	}
	a, err := openAddress(&e.cfg, e.part, ip, e.services)
	if err != nil {
		return nil, err
	}
	if e.arrivals.wanted {
		if err := a.rx.stamp(); err != nil {
			_ = a.close()
			return nil, err
		}
	}
	e.addrs = append(e.addrs, a)
	a.start(e)
	e.watchSockets()
	return a, nil
}

// Listen makes the device reachable at every address of the host, unless somebody holds the port
// there who does not share it.
func (e *engine) Listen() error {
	if !e.anywhere() {
		return nil
	}
	own, err := hostAddresses()
	if err != nil {
		return err
	}
	for _, ip := range own {
		// An address may be another program's, may have gone away, or may belong to an
		// interface that carries no RoCE packet: none of these is the listener's fault.
		_, err := e.take(ip)
		if err != nil && !errors.Is(err, ErrPortInUse) && !errors.Is(err, ErrNoAddress) && !errors.Is(err, ErrMTUTooSmall) {
			return err
		}
	}
	return nil
}

// hostAddresses lists the addresses of this host's interfaces that are up.
func hostAddresses() ([]netip.Addr, error) {
	links, err := net.Interfaces()
	if err != nil {
		return nil, explainFile("list the interfaces", err)
	}
	var own []netip.Addr
	for i := range links {
		if links[i].Flags&net.FlagUp == 0 {
			continue
		}
		prefixes, err := links[i].Addrs()
		if err != nil {
			continue // the interface has just gone away
		}
		for _, p := range prefixes {
			prefix, err := netip.ParsePrefix(p.String())
			if err != nil {
				continue
			}
			ip := prefix.Addr().Unmap()
			if ip.IsLinkLocalUnicast() && ip.Is6() {
				ip = ip.WithZone(strconv.Itoa(links[i].Index))
			}
			own = append(own, ip)
		}
	}
	return own, nil
}

// LocalAddrs lists the addresses at which the device can be reached now.
func (e *engine) LocalAddrs() []netip.Addr {
	addrs := make([]netip.Addr, len(e.addrs))
	for i, a := range e.addrs {
		addrs[i] = a.ip
	}
	return addrs
}

// RouteTo finds the address from which the device talks to a peer, and keeps to
// it: the one at which something of the peer last arrived, or else the one of the route.
func (e *engine) RouteTo(remote netip.Addr) (verbs.Route, error) {
	remote, err := canonical(remote)
	if err != nil {
		return verbs.Route{}, err
	}
	a := e.via[remote]
	if a == nil || !e.leadsTo(a, remote) {
		if a, err = e.addressTowards(remote); err != nil {
			return verbs.Route{}, err
		}
		e.use(remote, a)
	}
	return verbs.Route{Local: a.ip, Remote: remote, MTU: a.mtu}, nil
}

// use notes the address of ours that a peer is talked to from. The network may lead
// back by another address than the one that the peer has sent to, and the peer
// accepts packets only from that.
func (e *engine) use(remote netip.Addr, a *address) {
	if !e.anywhere() || e.via[remote] == a {
		return
	}
	if len(e.via) >= maxPeers {
		clear(e.via) // strangers choose their addresses freely; the route is right for most
	}
	e.via[remote] = a
}

// addressTowards returns the address that the route to the peer has. To a peer on
// this host, whose address the route would have as the source too, a device talks
// from its own loopback address, or shares the peer's.
func (e *engine) addressTowards(remote netip.Addr) (*address, error) {
	own := e.own
	if !e.anywhere() {
		if remote.Is4() != own.ip.Is4() {
			return nil, fmt.Errorf("udp: %w: the device is at %v, the peer at %v; open the device on an address of the peer's family, or on none",
				errFamily, own.ip, remote)
		}
		return own, nil
	}
	source, err := routeSource(netip.Addr{}, netip.AddrPortFrom(remote, e.cfg.Port))
	if err != nil {
		return nil, err
	}
	onThisHost := source == remote || remote.IsLoopback()
	if onThisHost && remote.Is4() && own.ip.Is4() && own.ip.IsLoopback() {
		return own, nil
	}
	if a := e.held(source); a != nil {
		return a, nil
	}
	a, err := e.take(source)
	if onThisHost && errors.Is(err, ErrPortInUse) {
		return nil, fmt.Errorf("udp: %v is of this host and another program's, and IPv4 has loopback addresses for both: %w", remote, err)
	}
	return a, err
}

// checkedRoute is the route that the kernel was asked for last.
type checkedRoute struct {
	local, remote netip.Addr
	until         transport.Time
}

// routeTrust is how long the kernel is not asked again: it takes longer than all else that a side does
// to set up a connection, and is asked for in three steps of it.
const routeTrust = 100 * transport.Millisecond

// leadsTo says whether packets from an address of ours can go to a peer; the address
// may have gone away since it was taken.
func (e *engine) leadsTo(a *address, remote netip.Addr) bool {
	now := e.Now()
	if c := &e.route; c.local == a.ip && c.remote == remote && now < c.until {
		return true
	}
	_, err := routeSource(a.ip, netip.AddrPortFrom(remote, e.cfg.Port))
	if err == nil {
		e.route = checkedRoute{a.ip, remote, now + routeTrust}
	}
	return err == nil
}

// routeSource asks the kernel for the local address of packets to a peer: that of a
// socket which is connected to it. Nothing is sent. A valid local address is tried
// instead of the one of the route.
func routeSource(local netip.Addr, remote netip.AddrPort) (netip.Addr, error) {
	family := unix.AF_INET
	if remote.Addr().Is6() {
		family = unix.AF_INET6
	}
	fd, err := unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, unix.IPPROTO_UDP)
	if err != nil {
		return netip.Addr{}, explain("find the route to", remote, err)
	}
	defer func() { _ = unix.Close(fd) }()
	if local.IsValid() {
		from, err := sockaddrOf(netip.AddrPortFrom(local, 0))
		if err != nil {
			return netip.Addr{}, err
		}
		if err := unix.Bind(fd, from); err != nil {
			return netip.Addr{}, explain("find the route to", remote, err)
		}
	}
	to, err := sockaddrOf(remote)
	if err != nil {
		return netip.Addr{}, err
	}
	if err := unix.Connect(fd, to); err != nil {
		return netip.Addr{}, explain("find the route to", remote, err)
	}
	source, err := localAddr(fd)
	return source.Addr(), err
}

// canonical returns the address as the kernel reports it of packets: IPv4 as IPv4,
// and the zone, which people give by name, as the number of the interface.
func canonical(ip netip.Addr) (netip.Addr, error) {
	ip = ip.Unmap()
	if ip.Zone() == "" {
		return ip, nil
	}
	scope, err := scopeOf(ip.Zone())
	if err != nil {
		return ip, err
	}
	return ip.WithZone(strconv.FormatUint(uint64(scope), 10)), nil
}
