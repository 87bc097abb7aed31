//go:build ibverbs && linux && cgo

package ibverbs

import "github.com/braid-rdma/braid/transport"

// noPackets is the part of transport.QP that the engines call which move packets. A
// NIC moves its own, and does not tell of them.
type noPackets struct{ counters transport.Counters }

func (noPackets) HandlePacket(transport.Time, *transport.Packet) transport.Verdict {
	return transport.Drop
}
func (noPackets) HandleTimeout(transport.Time)                        {}
func (noPackets) PollTransmit(transport.Time, *transport.Packet) bool { return false }
func (noPackets) HandleBackpressure(transport.Time)                   {}
func (noPackets) Timeout() transport.Time                             { return 0 }
func (noPackets) SetWindow(int)                                       {}
func (noPackets) Paths() []transport.PathCounters                     { return nil }

// Counters implements transport.QP: all but Keepalives are zero. `rdma statistic` has
// those of the NIC.
func (n *noPackets) Counters() *transport.Counters { return &n.counters }

// Blocked implements transport.QP. Of work that is outstanding, only the NIC knows.
func (q *qp) Blocked(transport.Time) transport.Reason {
	switch {
	case q.state == transport.Err:
		return transport.ReasonClosed
	case q.state != transport.RTS:
		return transport.ReasonState
	case q.sends.len() == 0:
		return transport.ReasonNoWork
	}
	return transport.ReasonNone
}
