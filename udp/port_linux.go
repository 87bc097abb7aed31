package udp

import (
	"net/netip"

	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

// port is a queue pair as the engine knows it.
type port struct {
	qp       transport.QP
	sink     verbs.Sink
	peer     *peer // nil until routed; datagrams have none
	mp       bool  // speaks the multi-path format
	dirty    bool  // waits to be driven
	path     int   // the source port of a queue pair that has only one
	deadline transport.Time
	index    int    // place in the timer heap; -1: not there
	epoch    uint64 // when it last received
	window   int    // last window told to it
}

// peer is an address that packets are sent to, with what is computed once per
// address rather than once per packet.
type peer struct {
	addr     netip.Addr
	dst      *destination
	prefixes []*[2]prefixCache // by source port, nil before its first packet; short packets (acknowledgements) apart from others
}

// peerOf answers the peer of an address, shared by all queue pairs to it so
// that their packets can join one segmented message.
func (e *engine) peerOf(addr netip.Addr) (*peer, error) {
	addr = addr.Unmap()
	if p := e.peers[addr]; p != nil {
		return p, nil
	}
	dst, err := newDestination(netip.AddrPortFrom(addr, e.cfg.Port))
	if err != nil {
		return nil, err
	}
	p := &peer{addr: addr, dst: dst, prefixes: make([]*[2]prefixCache, len(e.pool.sockets))}
	if len(e.peers) < maxPeers {
		e.peers[addr] = p
	}
	return p, nil
}

// maxPeers bounds the table of peers; beyond it a peer is made anew when
// needed, which costs speed and nothing else.
const maxPeers = 1 << 16
