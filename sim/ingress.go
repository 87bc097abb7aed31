package sim

// ingress is the receiving half of a port.
type ingress struct {
	sw    *fabricSwitch // whose it is, or
	host  *host
	twin  *egress // the sending half of the same port
	shard *shard

	buffered [priorities]int32 // bytes in the switch's buffer that came this way
	stopped  uint8             // priorities for which XOFF was sent
	offs     uint64            // how often it was sent
	refresh  *[priorities]refresher
	_        [40]byte // up to a multiple of a cache line
}

// act is the arrival of a packet.
func (i *ingress) act(p *packet) {
	if p.pause != noPause {
		i.twin.hear(p)
		i.shard.pool.put(p)
		return
	}
	i.shard.hops++
	if i.sw != nil {
		i.sw.forward(i, p)
		return
	}
	i.host.arrive(p)
}
