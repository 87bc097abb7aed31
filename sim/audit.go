package sim

import (
	"errors"
	"fmt"
)

// ErrUnbalanced means that the books of the fabric do not add up: a packet was
// lost without being counted, or used twice. It is a bug of the simulator.
var ErrUnbalanced = errors.New("sim: the books do not add up")

// ErrLeftover means that a network in which nothing is left to happen still
// holds packets, or still has a sender stopped. It is a bug of the simulator.
var ErrLeftover = errors.New("sim: something is left over")

// Audit checks the books of the whole fabric: every packet is in a pool, in a
// queue, on a link or with a carrier; every link has carried what entered it, but for what its
// faults lost; and the buffer of each switch is charged with exactly the packets
// that wait in its queues. It may be called whenever the simulation rests, and
// costs as much as there are packets.
func (n *Network) Audit() error {
	b := n.takeStock()
	if out := b.made - b.pooled; out != b.queued+b.onLinks+b.pauses+b.carried {
		return fmt.Errorf("%w: %d packets are out of the pools, but %d queue, %d are on links, %d are carried beside and %d are PFC frames", ErrUnbalanced, out, b.queued, b.onLinks, b.carried, b.pauses)
	}
	if b.entered-b.lost != b.arrived+uint64(b.onLinks) {
		return fmt.Errorf("%w: %d packets entered links, %d were lost, %d arrived and %d are on their way", ErrUnbalanced, b.entered, b.lost, b.arrived, b.onLinks)
	}
	for _, s := range n.switches {
		if s == nil {
			continue
		}
		if err := s.audit(); err != nil {
			return err
		}
	}
	return nil
}

// AuditEnd checks, beyond Audit, that nothing is left over: no packet outside the
// pools, no byte in a buffer and, unless a storm stopped it, no sender stopped.
func (n *Network) AuditEnd() error {
	if err := n.Audit(); err != nil {
		return err
	}
	if b := n.takeStock(); b.made != b.pooled {
		return fmt.Errorf("%w: %d packets queue, %d are on links and %d are PFC frames", ErrLeftover, b.queued, b.onLinks, b.pauses)
	}
	for _, lane := range n.lanes {
		if lane.paused != 0 && lane.peer.sw != nil {
			return fmt.Errorf("%w: %s is stopped in the priorities %08b", ErrLeftover, lane.name, lane.paused)
		}
	}
	return nil
}

// stock counts where the packets of a network are, and where they have been.
type stock struct {
	made, pooled, queued, onLinks, carried, pauses int
	entered, lost, arrived                         uint64
}

func (n *Network) takeStock() (b stock) {
	for _, s := range n.shards {
		b.arrived += s.hops
	}
	for i := range n.pools {
		b.made += n.pools[i].made
		for p := n.pools[i].free; p != nil; p = p.next {
			b.pooled++
		}
	}
	n.eachPending(func(e *event) {
		switch {
		case e.packet() == nil:
		case e.packet().pause != noPause:
			b.pauses++
		default:
			b.onLinks++
		}
	})
	for _, h := range n.hosts {
		b.carried += h.carried
	}
	for _, lane := range n.lanes {
		b.entered += lane.sent
		if f := lane.fault; f != nil {
			b.entered += f.doubled
			b.lost += f.lost
		}
		for priority := range uint8(priorities) {
			b.queued += lane.queue(priority).length()
		}
		if lane.rare != nil && lane.rare.receiver != nil {
			b.queued += lane.rare.receiver.queue.length()
		}
	}
	return b
}

// length counts the packets of a queue.
func (q *queue) length() (packets int) {
	for p := q.head; p != nil; p = p.next {
		packets++
	}
	return packets
}

// audit checks the accounts of a switch against its queues.
func (s *fabricSwitch) audit() error {
	used := int32(0)
	buffered := map[*ingress]*[priorities]int32{}
	for _, in := range s.ins {
		buffered[in] = &[priorities]int32{}
	}
	for _, port := range s.ports {
		for priority := range uint8(priorities) {
			q := port.queue(priority)
			bytes := int32(0)
			for p := q.head; p != nil; p = p.next {
				bytes += p.size
				account := buffered[p.ingress]
				if account == nil {
					return fmt.Errorf("%w: switch %s queues a packet that came by no port of its own", ErrUnbalanced, s.name)
				}
				account[priority] += p.size
			}
			if bytes != q.bytes {
				return fmt.Errorf("%w: a queue of %s holds %d bytes and says %d", ErrUnbalanced, port.name, bytes, q.bytes)
			}
			used += bytes
		}
	}
	if used != s.used {
		return fmt.Errorf("%w: switch %s holds %d bytes and says %d", ErrUnbalanced, s.name, used, s.used)
	}
	for _, in := range s.ins {
		if *buffered[in] != in.buffered {
			return fmt.Errorf("%w: switch %s holds %v bytes of the peer of %s and says %v", ErrUnbalanced, s.name, *buffered[in], in.twin.name, in.buffered)
		}
	}
	return s.auditParts()
}

// auditParts checks that what is charged to the shared part and to headrooms is what ports
// and priorities have beyond their reserves.
func (s *fabricSwitch) auditParts() error {
	shared := int32(0)
	for _, in := range s.ins {
		for priority, bytes := range in.buffered {
			if s.lossless&(1<<priority) == 0 {
				shared += bytes
				continue
			}
			over := int32(0)
			if g := in.twin.guard; g != nil {
				over = g.over[priority]
			}
			if over < 0 || over > min(bytes, in.twin.headroom) || over > 0 && in.stopped&(1<<priority) == 0 {
				return fmt.Errorf("%w: switch %s has %d bytes in the headroom of %d for the peer of %s", ErrUnbalanced, s.name, over, in.twin.headroom, in.twin.name)
			}
			shared += s.beyondReserve(bytes - over)
		}
	}
	most := s.pool
	if s.cfg.PFC.express != 0 {
		most = s.total // see hasRoom
	}
	if shared != s.shared || shared > most {
		return fmt.Errorf("%w: switch %s shares %d bytes of %d and says %d", ErrUnbalanced, s.name, shared, most, s.shared)
	}
	return nil
}
