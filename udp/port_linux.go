package udp

import (
	"net/netip"

	"github.com/braid-rdma/braid/internal/silence"
	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

// port is a queue pair as the engine knows it.
type port struct {
	qp             transport.QP
	sink           verbs.Sink
	peer           *peer // nil until routed; datagrams have none
	mp             bool  // uses the multi-path format
	unacknowledged bool  // its requests complete when they have been sent
	dirty          bool  // waits to be driven
	path           int   // the source port of a queue pair that has only one
	deadline       transport.Time
	index          int    // place in the timer heap; -1: not there
	epoch          uint64 // when it last received
	window         int    // last window told to it

	way     verbs.Way            // nil: packets leave by the sockets
	watcher verbs.NetworkWatcher // nil: nobody wants to know how the network does
	silence silence.Watch
}

// peer is an address that packets are sent to, with what is computed once per
// address rather than once per packet.
type peer struct {
	addr     netip.Addr
	at       *address // from which it is talked to
	dst      *destination
	prefixes []*[2]prefixCache // by source port, nil before its first packet; short packets (acknowledgements) apart from others
}

// peerOf returns the peer of an address, shared by all queue pairs to it so
// that their packets can join one segmented message.
func (e *engine) peerOf(addr netip.Addr) (*peer, error) {
	addr, err := canonical(addr)
	if err != nil {
		return nil, err
	}
	at := e.via[addr]
	if p := e.peers[addr]; p != nil && (at == nil || at == p.at) {
		return p, nil
	}
	if at == nil {
		if at, err = e.addressTowards(addr); err != nil {
			return nil, err
		}
	}
	dst, err := e.destinationFrom(at, addr)
	if err != nil {
		return nil, err
	}
	if len(e.peers) >= len(e.ports)+maxIdlePeers {
		e.forgetPeers()
	}
	p := &peer{addr: addr, at: at, dst: dst, prefixes: make([]*[2]prefixCache, len(e.pool.sockets))}
	e.peers[addr] = p
	return p, nil
}

// forgetPeers forgets the peers that no queue pair is connected to.
func (e *engine) forgetPeers() {
	clear(e.peers)
	for _, p := range e.ports {
		if p.peer != nil {
			e.peers[p.peer.addr] = p.peer
		}
	}
}

// maxIdlePeers is how many peers are kept beyond those of connected queue
// pairs: destinations of datagrams, which anybody can make a program answer to.
// One that was forgotten is made anew, which costs speed and nothing else.
const maxIdlePeers = 1024
