package lab

import (
	"time"

	"github.com/vishvananda/netlink"
)

// Status reads the condition of the lab and the counters of its ports.
func (n *Network) Status() (*Status, error) {
	s := &Status{Options: n.Options, Nodes: n.Nodes}
	for path := range n.Options.Spines {
		p := PathStatus{Path: path}
		err := n.onPath(path, func(leaf int, link *Link) error {
			flow := &p.Forward
			if leaf > 0 {
				flow = &p.Backward
			}
			return n.readLink(link, &p, flow)
		})
		if err != nil {
			return nil, err
		}
		s.Paths = append(s.Paths, p)
	}
	return s, nil
}

// readLink adds what a link between leaf and spine has carried upwards.
func (n *Network) readLink(link *Link, p *PathStatus, flow *Flow) error {
	set, counted, err := n.read(link.Lower, leaving)
	if err != nil {
		return err
	}
	p.Rate = int64(8e12 / float64(max(1, set.PicosPerByte)))
	p.Threshold = time.Duration(set.Threshold)
	if set.Threshold == 0 {
		p.Threshold = NoMarks
	}
	flow.Packets += counted.Packets
	flow.Bytes += counted.Bytes
	flow.Marked += counted.Marked
	if set, counted, err = n.read(link.Upper, arriving); err != nil {
		return err
	}
	flow.Loss = float64(set.Loss) / (1 << 32)
	flow.Lost += counted.Dropped
	dropped, err := n.queueDrops(link.Lower)
	flow.Dropped += dropped
	return err
}

// queueDrops is what a port's token bucket has dropped.
func (n *Network) queueDrops(port Port) (drops uint64, err error) {
	err = n.at(port.Node, func(h *netlink.Handle) error {
		link, err := h.LinkByName(port.Name)
		if err != nil {
			return err
		}
		qdiscs, err := h.QdiscList(link)
		if err != nil {
			return err
		}
		for _, q := range qdiscs {
			if statistics := q.Attrs().Statistics; q.Type() == "tbf" && statistics != nil && statistics.Queue != nil {
				drops += uint64(statistics.Queue.Drops)
			}
		}
		return nil
	})
	return drops, err
}
