package machine

import (
	"net/netip"
	"slices"

	"github.com/braid-rdma/braid/cm/mad"
)

// A probe proves the address of a standard peer, which does not know cookies,
// without anything being kept for it: a DREQ for a connection that does not
// exist. The peer answers with a DREP that carries the same transaction
// identifier (Linux: cm_issue_drep), which is a cookie of its address. From then
// on the address is known for a while, and the request that the peer repeats
// has a place among those of known addresses.
//
// Anybody can send a request in the name of a known address. So such a request
// is given a place and no more, and not one of those that cookies open: it proves
// nothing about itself.

// probeOf stands for the request in the cookie of an address. No listener has
// this service, so that it is the cookie of no real request.
var probeOf = &mad.REQ{Service: ^mad.ServiceID(0)}

// probe asks an address to show that it exists.
func (m *Machine) probe(now Time, to netip.Addr) {
	if !m.mayReply(now) {
		return
	}
	m.counters.Probes++
	tid := m.cookies.cookie(now, to, probeOf)
	// Of the peer's identifiers none is zero, and ours names no connection.
	m.emit(to, mad.Append(nil, &mad.DREQ{LocalID: m.cfg.IDs(uint32(tid))}, tid))
}

// handleProbed takes a DREP if it answers a probe.
func (m *Machine) handleProbed(now Time, from netip.Addr, msg *mad.DREP, tid mad.TransactionID) bool {
	if msg.LocalID != 0 || !m.cookies.proves(now, from, probeOf, tid) {
		return false
	}
	m.known.add(now, from)
	return true
}

// knownAddrs are the addresses that answered a probe lately.
type knownAddrs struct {
	until map[netip.Addr]Time
	order []netip.Addr // the oldest first
}

func (k *knownAddrs) has(now Time, a netip.Addr) bool { return k.until[a] > now }

func (k *knownAddrs) add(now Time, a netip.Addr) {
	if k.has(now, a) {
		return
	}
	forget := 0
	for forget < len(k.order) && (len(k.until) >= maxKnown || k.until[k.order[forget]] <= now) {
		delete(k.until, k.order[forget])
		forget++
	}
	k.order = append(slices.Delete(k.order, 0, forget), a)
	k.until[a] = now + knownTime
}
