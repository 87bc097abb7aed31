package lab

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/vishvananda/netlink"
)

// gsoSegments is how many packets a batch may have that travels as one (the
// kernel's own limit).
const gsoSegments = 65535

// Cut makes a path lose everything in a direction, or in both. Nobody is told:
// links stay up, routes stay, no ICMP message is sent.
func (n *Network) Cut(path int, d Direction) error { return n.SetLoss(path, 1, d) }

// Restore ends the loss, or the cut, of a path in both directions.
func (n *Network) Restore(path int) error { return n.SetLoss(path, 0, Both) }

// SetLoss makes a path lose packets at random with a probability.
//
// While a path loses some packets, batches that travel through the kernel as one
// are taken apart before the spine, so that it is packets that are lost.
func (n *Network) SetLoss(path int, probability float64, d Direction) error {
	if !(probability >= 0 && probability <= 1) {
		return fmt.Errorf("%w: loss of %v: use 0 to 1", ErrOptions, probability)
	}
	segments := gsoSegments
	if probability > 0 && probability < 1 {
		segments = 1
	}
	return n.onPath(path, func(leaf int, link *Link) error {
		if !d.includes(leaf) {
			return nil
		}
		return errors.Join(
			n.setBatch(link.Lower, segments),
			n.change(link.Upper, arriving, func(s *settings) { s.Loss = lossOf(probability) }))
	})
}

// setBatch limits the batches that leave a port as one.
func (n *Network) setBatch(port Port, segments int) error {
	return n.at(port.Node, func(h *netlink.Handle) error {
		link, err := h.LinkByName(port.Name)
		if err != nil {
			return err
		}
		return h.LinkSetGSOMaxSegs(link, segments)
	})
}

// SetRate changes the rate of a path, in both directions.
func (n *Network) SetRate(path int, rate int64) error {
	if !validRate(rate) {
		return fmt.Errorf("%w: rate %d b/s: use 1 Mb/s to 100 Gb/s", ErrOptions, rate)
	}
	return n.onQueues(path, func(port Port) error { return n.setQueue(port, rate) })
}

// SetThreshold changes the wait from which a path marks ECN; NoMarks: never.
func (n *Network) SetThreshold(path int, threshold time.Duration) error {
	if !validThreshold(threshold) {
		return fmt.Errorf("%w: ECN threshold %v: use up to %v, or a negative one for no marks", ErrOptions, threshold, maxDelay)
	}
	return n.onQueues(path, func(port Port) error {
		return n.change(port, leaving, func(s *settings) { s.Threshold = nanoseconds(threshold) })
	})
}

// Flap cuts and restores a path in turns, each for half a period, until ctx ends;
// then the path is restored. The end of ctx is no error.
func (n *Network) Flap(ctx context.Context, path int, period time.Duration) error {
	if period < 2*time.Millisecond {
		return fmt.Errorf("%w: flapping with a period of %v: use 2ms at least", ErrOptions, period)
	}
	ticker := time.NewTicker(period / 2)
	defer ticker.Stop()
	for cut := true; ; cut = !cut {
		var err error
		if cut {
			err = n.Cut(path, Both)
		} else {
			err = n.Restore(path)
		}
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return n.Restore(path)
		case <-ticker.C:
		}
	}
}

// onQueues runs f for the ports of a path that have a rate.
func (n *Network) onQueues(path int, f func(Port) error) error {
	return n.onPath(path, func(_ int, link *Link) error {
		for _, port := range n.queues(link) {
			if err := f(port); err != nil {
				return err
			}
		}
		return nil
	})
}

// onPath runs f for the links of a path, one for each leaf.
func (n *Network) onPath(path int, f func(leaf int, link *Link) error) error {
	if path < 0 || path >= n.Options.Spines {
		return fmt.Errorf("%w: path %d: use 0 to %d", ErrNode, path, n.Options.Spines-1)
	}
	leaf := 0
	for i := range n.Links {
		if n.Links[i].Spine != path {
			continue
		}
		if err := f(leaf, &n.Links[i]); err != nil {
			return err
		}
		leaf++
	}
	return nil
}
