package cm

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"github.com/braid-rdma/braid/cm/mad"
	"github.com/braid-rdma/braid/verbs"
)

// Fields of a REQ that have one value on RoCEv2.
const (
	permissiveLID = 0xffff // there are no local identifiers
	defaultPKey   = 0xffff
	hopLimit      = 64 // the route is not confined to a subnet
	packetRate    = 3  // a code that every peer takes; nobody paces by it
)

// programLen is the program's part of a REQ's private data.
const programLen = mad.REQPrivateLen - mad.IPHeaderLen

// guidOf names the adapter by the device's address, so that it is the same
// after a restart. The prefix has the bit of locally administered numbers.
func guidOf(local netip.Addr) uint64 {
	b := local.As16()
	const prefix = 0x0262_7261_0000_0000
	return prefix | uint64(binary.BigEndian.Uint32(b[12:]))
}

// requestFor is the REQ by which a queue pair asks for a connection.
func requestFor(q *verbs.QP, to netip.AddrPort, srcPort uint16, o *Options) (mad.REQ, error) {
	info := q.Query()
	c := &info.Options.Conn
	p, err := q.ParamsFor(to.Addr())
	if err != nil {
		return mad.REQ{}, fmt.Errorf("cm: %w", err)
	}
	req := mad.REQ{
		Service: mad.PortService(to.Port()), QPN: p.QPN, PSN: p.PSN,
		ResponderResources: uint8(p.ReadsServed), InitiatorDepth: uint8(max(c.Reads, 0)),
		Transport: mad.TransportRC, Retry: uint8(max(c.RetryCount, 0)), RNRRetry: uint8(max(c.RNRRetry, 0)),
		PKey: defaultPKey, MTU: mad.MTUOf(p.MTU), SRQ: o.QP.SRQ != nil,
		Primary: mad.Route{
			LocalLID: permissiveLID, RemoteLID: permissiveLID,
			LocalGID: mad.GID(p.Addr), RemoteGID: mad.GID(to.Addr()),
			PacketRate: packetRate, HopLimit: hopLimit, AckTimeout: mad.Interval(c.AckTimeoutCode()),
		},
	}
	header := mad.IPHeader{SrcPort: srcPort, Src: p.Addr, Dst: to.Addr()}
	header.Append(req.PrivateData[:0])
	t := o.terms(&p)
	if t != nil {
		t.retry = true
	}
	return req, pack(req.PrivateData[mad.IPHeaderLen:], o.PrivateData, t)
}

// terms are what the options let us tell a braid peer. A program of an RC queue
// pair may have the room for its own data instead.
func (o *Options) terms(p *verbs.ConnParams) *terms {
	if p.Type == verbs.RC && len(o.PrivateData) > programLen-termsLen {
		return nil
	}
	return termsOf(p)
}

// replyFor is the REP by which a queue pair grants a request.
func replyFor(q *verbs.QP, p *verbs.ConnParams, req *mad.REQ, o *Options, peer *terms) (mad.REP, error) {
	info := q.Query()
	c := &info.Options.Conn
	rep := mad.REP{
		QPN: p.QPN, PSN: p.PSN,
		ResponderResources: min(uint8(p.ReadsServed), req.InitiatorDepth),
		InitiatorDepth:     min(uint8(max(c.Reads, 0)), req.ResponderResources),
		RNRRetry:           uint8(max(c.RNRRetry, 0)), SRQ: o.QP.SRQ != nil,
	}
	var ours *terms
	if peer != nil {
		ours = termsOf(p)
	}
	return rep, pack(rep.PrivateData[:], o.PrivateData, ours)
}

// remoteEnd is what the standard fields of a REQ or REP say of their sender.
type remoteEnd struct {
	addr  netip.Addr
	qpn   verbs.QPN
	psn   verbs.PSN // of the first packet that it wants to receive
	reads uint8
	mtu   int    // of the REQ: a standard peer has one path MTU for both sides
	terms *terms // nil: a standard peer
}

// connect takes a queue pair from RESET to RTS, connected to that end. Receives
// are posted on the way.
//
// Each side announces the packet number that it wants to receive first, and
// sends from the one that the other has announced. So what the queue pair had
// drawn for its own first packet, and what was announced, is the other end's.
func (p *remoteEnd) connect(q *verbs.QP, o *Options, limits *verbs.Limits) error {
	local := q.Params()
	remote := verbs.ConnParams{
		Type: local.Type, Addr: p.addr, QPN: p.qpn, PSN: local.PSN,
		MTU: p.mtu, Paths: 1, ReadsServed: min(int(p.reads), limits.Reads),
	}
	if p.terms != nil {
		p.terms.apply(&remote, local.MTU)
	}
	if err := remote.Check(); err != nil {
		return fmt.Errorf("%w: %w", errPeer, err)
	}
	if err := q.SetFirstPSN(p.psn); err != nil {
		return err
	}
	if o.Prepare != nil && q.State() == verbs.Reset {
		if err := q.Prepare(); err != nil {
			return err
		}
		if err := o.Prepare(q); err != nil {
			return err
		}
	}
	return q.Connect(remote)
}
