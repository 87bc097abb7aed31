package lab

import (
	"errors"
	"fmt"
	"time"

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
		var err error
		switch {
		case link.Spine >= 0:
			err = errors.Join(
				n.shape(link.Lower, n.Options.Rate), n.attach(link.Lower, leaving),
				n.attach(link.Upper, arriving))
			// With two leaves a spine's port carries what one shaped port sends.
			if n.Options.Leaves > 2 {
				err = errors.Join(err, n.shape(link.Upper, n.Options.Rate), n.attach(link.Upper, leaving))
			}
		case n.Options.HostRate != 0:
			err = errors.Join(n.shape(link.Upper, n.Options.HostRate), n.attach(link.Upper, leaving))
		}
		if err != nil {
			return fmt.Errorf("port between %s and %s: %w", link.Lower.Node, link.Upper.Node, err)
		}
		if err := n.setRates(link); err != nil {
			return err
		}
	}
	return nil
}

// setRates tells the programs of a new link what its ports are like.
func (n *Network) setRates(link *Link) error {
	switch {
	case link.Spine < 0 && n.Options.HostRate == 0:
		return nil
	case link.Spine < 0:
		return n.change(link.Upper, leaving, n.queue(n.Options.HostRate))
	case n.Options.Leaves > 2:
		if err := n.change(link.Upper, leaving, n.queue(n.Options.Rate)); err != nil {
			return err
		}
	}
	return n.change(link.Lower, leaving, n.queue(n.Options.Rate))
}

// queue is a change of settings to those of a port with a rate.
func (n *Network) queue(rate int64) func(*settings) {
	return func(s *settings) {
		s.PicosPerByte = picosAt(rate)
		s.Credit = bucket * s.PicosPerByte / 1000
		s.Limit = nanoseconds(n.Options.Delay)
		s.Threshold = nanoseconds(n.Options.Threshold)
	}
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

// queueTime is the time that a program's setting in nanoseconds stands for.
func queueTime(ns uint64) time.Duration { return time.Duration(ns) }
