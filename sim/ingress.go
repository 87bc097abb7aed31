package sim

// ingress is the receiving half of a port. It fills a cache line.
type ingress struct {
	sw       *fabricSwitch // whose it is, or
	host     *host
	twin     *egress           // the sending half of the same port
	stopped  uint8             // priorities for which XOFF was sent
	slow     bool              // a host's that has a receive buffer
	untagged bool              // a switch's whose peer has routed what comes, and taken its VLAN tag off
	buffered [priorities]int32 // bytes in the switch's buffer that came this way
}

// arrive takes a packet from the link.
func (i *ingress) arrive(p *packet) {
	s := i.shard()
	if p.pause != noPause {
		i.twin.obey(p)
		s.pool.put(p)
		return
	}
	s.hops++
	if i.untagged {
		p.priority, p.express = 0, false
	}
	if p.astray || i.sw != nil && i.sw.unknown != nil {
		i.arriveAstray(p)
		return
	}
	if i.sw != nil {
		i.sw.forward(i, p)
		return
	}
	if i.slow {
		i.twin.rare.receiver.arrive(p)
		return
	}
	i.host.arrive(p)
}

func (i *ingress) shard() *shard {
	if i.sw != nil {
		return i.sw.shard
	}
	return i.host.shard
}

// reaction is how long it takes until a PFC frame that arrives here is obeyed. A host's
// NIC is as fast as its switch.
func (i *ingress) reaction() Time {
	sw := i.sw
	if sw == nil {
		sw = i.twin.towards
	}
	if sw == nil {
		return DefaultReaction // two hosts without a switch
	}
	return sw.cfg.PFC.Reaction
}

// tagEnds says whether what goes from one end of a link to the other has no VLAN tag any more: a switch has routed it.
func tagEnds(from, to *ingress) bool { return from.sw != nil && from.sw.cfg.VLAN && to.sw != nil }
