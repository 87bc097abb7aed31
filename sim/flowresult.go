package sim

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/braid-rdma/braid/sim/workload"
	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
	"github.com/braid-rdma/braid/wire"
)

// FlowResult is what became of a flow.
type FlowResult struct {
	workload.Flow
	Started  Time // never started: negative
	Finished Time // when the last acknowledgement had come; not finished: negative
	Acked    int64
	Ideal    Time // what it would have taken in an empty network; 0 for endless flows
	Err      error
	FlowCounts
}

// FlowCounts is what the queue pairs of a flow counted, summed over them.
type FlowCounts struct {
	Packets       uint64 // data packets sent, with retransmissions
	Retransmitted uint64
	Timeouts      uint64
	Naks          uint64 // received by the sender
	CNPs          uint64 // congestion notices that the sender heeded
	Marked        uint64 // packets that arrived marked
	OutOfOrder    uint64 // packets accepted ahead of the expected one
	MaxOutOfOrder uint64 // the highest out-of-order degree
	Duplicates    uint64 // packets that arrived again
}

func (c *FlowCounts) add(sender, receiver *transport.Counters) {
	c.Packets += sender.PacketsSent
	c.Retransmitted += sender.Retransmitted
	c.Timeouts += sender.LocalAckTimeoutErr
	c.Naks += sender.NaksReceived
	c.CNPs += sender.CNPHandled
	c.Marked += receiver.ECNMarked
	c.OutOfOrder += receiver.OOOAccepted
	c.MaxOutOfOrder = max(c.MaxOutOfOrder, receiver.MaxOutOfOrder)
	c.Duplicates += receiver.DuplicateRequest
}

// Done says whether the flow has finished.
func (r *FlowResult) Done() bool { return r.Finished >= 0 }

// Duration is the flow completion time.
func (r *FlowResult) Duration() Time { return r.Finished - r.Started }

// Slowdown is the completion time relative to that in an empty network.
func (r *FlowResult) Slowdown() float64 { return float64(r.Duration()) / float64(max(1, r.Ideal)) }

// Goodput is the payload rate in bits per second: over the flow's life, or up to
// now if it is not finished.
func (r *FlowResult) Goodput(now Time) float64 {
	end := now
	if r.Done() {
		end = r.Finished
	}
	if r.Started < 0 || end <= r.Started {
		return 0
	}
	return float64(r.Acked) * 8 / (end - r.Started).Seconds()
}

// Result returns what has become of flow number i so far.
func (t *Traffic) Result(i int) FlowResult {
	f := t.flows[i]
	r := FlowResult{Flow: f.Flow, Started: -1, Finished: -1, Acked: f.acked, Err: f.err}
	if f.started != never {
		r.Started = f.started
	}
	if f.finished != never {
		r.Finished = f.finished
	}
	if f.Bytes > 0 {
		r.Ideal = t.net.idealTime(f.Src, f.Dst, f.Bytes, t.carrier.headers())
	}
	for i := range f.lanes {
		source, destination := f.ends(&f.lanes[i])
		sent, received := source.Stats(), destination.Stats()
		r.add(&sent.Counters, &received.Counters)
	}
	return r
}

// Acked is the payload of flow i that has been acknowledged so far, in bytes.
func (t *Traffic) Acked(i int) int64 { return t.flows[i].acked }

// Delivered is the payload of flow i that has arrived so far, in bytes. Acked
// moves a whole message at a time, this packet by packet.
func (t *Traffic) Delivered(i int) (bytes int64) {
	f := t.flows[i]
	for l := range f.lanes {
		_, destination := f.ends(&f.lanes[l])
		bytes += int64(destination.Stats().BytesReceived)
	}
	return bytes
}

// Flows is the number of flows.
func (t *Traffic) Flows() int { return len(t.flows) }

// Unfinished counts the flows that have an end and have not reached it.
func (t *Traffic) Unfinished() (n int) {
	for _, f := range t.flows {
		if f.Bytes > 0 && f.finished == never && f.err == nil {
			n++
		}
	}
	return n
}

// ErrWrongBytes means that a receiver's memory is not what the sender sent.
var ErrWrongBytes = errors.New("sim: wrong bytes arrived")

// Verify compares what arrived with what was sent, for all finished flows of a
// network in verify mode.
func (t *Traffic) Verify() error {
	for i, f := range t.flows {
		if f.finished == never || f.from.memory != nil {
			continue
		}
		if !bytes.Equal(f.region[0].Bytes(), f.region[1].Bytes()) {
			return fmt.Errorf("%w: flow %d from host %d to host %d", ErrWrongBytes, i, f.Src, f.Dst)
		}
	}
	return nil
}

// headers is what a data packet carries beside its payload: BTH and ICRC, and on
// a multi-path connection the MP header and the address of the data.
func (c *Carrier) headers() int64 {
	if c.QP.Type == verbs.MP {
		return framing + wire.BTHLen + wire.MPDataLen + wire.RETHLen + wire.ICRCLen
	}
	return framing + wire.BTHLen + wire.ICRCLen
}

// idealTime is how long size bytes would take, and their last acknowledgement,
// if no other packet were in the network.
func (n *Network) idealTime(src, dst int, size, headers int64) Time {
	steps := n.routes.Path(src, dst, func(int) uint32 { return 0 })
	mtu := int64(n.cfg.MTU)
	packets := (size + mtu - 1) / mtu
	last := size - (packets-1)*mtu + headers
	var slowest *egress
	total := Time(0)
	for _, s := range steps {
		lane := n.ports[s.Node][s.Port]
		total += 2*lane.speed.delay + lane.speed.serialisation(int32(last)) + lane.speed.serialisation(framing+36)
		if slowest == nil || lane.speed.perByte > slowest.speed.perByte {
			slowest = lane
		}
	}
	if slowest == nil {
		return 0
	}
	return total + Time(packets-1)*slowest.speed.serialisation(int32(mtu+headers))
}
