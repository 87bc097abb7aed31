package lab

import (
	"errors"
	"fmt"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// bucket is what a shaped port's token bucket saves up: enough that a timer which
// fires late on a busy machine costs no throughput, and more than the largest
// batch that travels as one packet.
const bucket = 256 << 10

// side says where at a port a program stands.
type side uint32

const (
	arriving side = netlink.HANDLE_MIN_INGRESS
	leaving  side = netlink.HANDLE_MIN_EGRESS
)

// buildPorts shapes the ports and attaches the programs.
func (n *Network) buildPorts() error {
	for i := range n.Links {
		link := &n.Links[i]
		if err := n.buildPortsOf(link); err != nil {
			return fmt.Errorf("port between %s and %s: %w", link.Lower.Node, link.Upper.Node, err)
		}
	}
	return nil
}

func (n *Network) buildPortsOf(link *Link) error {
	rate := n.Options.Rate
	if link.Spine < 0 {
		rate = n.Options.HostRate
	}
	for _, port := range n.queues(link) {
		if err := n.attach(port, leaving); err != nil {
			return err
		}
		if err := n.setQueue(port, rate); err != nil {
			return err
		}
		if err := n.change(port, leaving, func(s *settings) { s.Threshold = nanoseconds(n.Options.Threshold) }); err != nil {
			return err
		}
	}
	if link.Spine < 0 {
		return nil
	}
	return n.attach(link.Upper, arriving)
}

// queues are the ports of a link that have a rate. With two leaves that of a
// spine needs none: it carries what one leaf's port lets through.
func (n *Network) queues(link *Link) []Port {
	switch {
	case link.Spine < 0 && n.Options.HostRate == 0:
		return nil
	case link.Spine < 0:
		return []Port{link.Upper}
	case n.Options.Leaves > 2:
		return []Port{link.Lower, link.Upper}
	}
	return []Port{link.Lower}
}

// setQueue gives a port a rate, and lets its program keep the account of it.
func (n *Network) setQueue(port Port, rate int64) error {
	if err := n.shape(port, rate); err != nil {
		return err
	}
	return n.change(port, leaving, func(s *settings) {
		s.PicosPerByte = picosAt(rate)
		s.Credit = bucket * s.PicosPerByte / 1000
		s.Limit = nanoseconds(n.Options.Delay)
	})
}

// shape gives a port, or a shaped port anew, a rate and a queue.
func (n *Network) shape(port Port, rate int64) error {
	bytesPerSecond := uint64(rate / 8)
	return n.at(port.Node, func(h *netlink.Handle) error {
		link, err := h.LinkByName(port.Name)
		if err != nil {
			return err
		}
		err = h.QdiscReplace(&netlink.Tbf{
			QdiscAttrs: netlink.QdiscAttrs{
				LinkIndex: link.Attrs().Index, Handle: netlink.MakeHandle(1, 0), Parent: netlink.HANDLE_ROOT,
			},
			Rate:   bytesPerSecond,
			Limit:  bucket + uint32(float64(bytesPerSecond)*n.Options.Delay.Seconds()),
			Buffer: netlink.Xmittime(bytesPerSecond, bucket),
		})
		return explain(err, "shaping a port", "the token bucket (CONFIG_NET_SCH_TBF)")
	})
}

// attach puts a program of its own at a port.
func (n *Network) attach(port Port, where side) error {
	m, err := newMaps()
	if err != nil {
		return err
	}
	defer m.close()
	program, err := newProgram(m)
	if err != nil {
		return err
	}
	defer program.Close()
	return n.at(port.Node, func(h *netlink.Handle) error {
		link, err := h.LinkByName(port.Name)
		if err != nil {
			return err
		}
		attributes := netlink.QdiscAttrs{
			LinkIndex: link.Attrs().Index, Handle: netlink.MakeHandle(0xffff, 0), Parent: netlink.HANDLE_CLSACT,
		}
		if err := h.QdiscAdd(&netlink.Clsact{QdiscAttrs: attributes}); err != nil && !errors.Is(err, unix.EEXIST) {
			return explain(err, "adding a classifier", "clsact (CONFIG_NET_SCH_INGRESS)")
		}
		err = h.FilterReplace(&netlink.BpfFilter{
			FilterAttrs: netlink.FilterAttrs{
				LinkIndex: link.Attrs().Index, Parent: uint32(where), Handle: 1, Priority: 1, Protocol: unix.ETH_P_ALL,
			},
			Fd: program.FD(), Name: "lab_port", DirectAction: true,
		})
		return explain(err, "attaching an eBPF program", "eBPF classifiers (CONFIG_NET_CLS_BPF)")
	})
}

// openPort finds the maps of the program at a port.
func (n *Network) openPort(port Port, where side) (m maps, err error) {
	err = n.at(port.Node, func(h *netlink.Handle) error {
		link, err := h.LinkByName(port.Name)
		if err != nil {
			return err
		}
		filters, err := h.FilterList(link, uint32(where))
		if err != nil {
			return err
		}
		for _, filter := range filters {
			if program, ok := filter.(*netlink.BpfFilter); ok {
				m, err = openMaps(program.Id)
				return err
			}
		}
		return fmt.Errorf("%w: no program at port %s of %s", ErrNode, port.Name, port.Node)
	})
	return m, err
}

// change changes the settings of the program at a port.
func (n *Network) change(port Port, where side, f func(*settings)) error {
	m, err := n.openPort(port, where)
	if err != nil {
		return err
	}
	defer m.close()
	var s settings
	if err := m.settings.Lookup(uint32(0), &s); err != nil {
		return err
	}
	f(&s)
	return m.settings.Put(uint32(0), &s)
}

// read is what the program at a port has counted.
func (n *Network) read(port Port, where side) (set settings, counted state, err error) {
	m, err := n.openPort(port, where)
	if err != nil {
		return set, counted, err
	}
	defer m.close()
	if err := m.settings.Lookup(uint32(0), &set); err != nil {
		return set, counted, err
	}
	return set, counted, m.state.Lookup(uint32(0), &counted)
}
