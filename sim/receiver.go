package sim

import (
	"fmt"
	"math/bits"
)

// Receiver is a NIC that takes packets out of its receive buffer more slowly than they may
// come: because its cache of address translations misses, or PCIe or memory is slow. Such a
// receiver sends pauses, by thousands a second, and spreads its slowness over the network
// ("RDMA over commodity Ethernet at scale", SIGCOMM '16, §4.4).
type Receiver struct {
	Rate   int64 // bits per second at which the buffer drains; 0: it does not
	Buffer int   // bytes, with framing, for all priorities; 0: 256 KiB
	// XOFF is the bytes in the buffer above which the NIC stops the priority of a packet
	// that arrives. 0: what leaves the headroom of the link, at least a quarter.
	XOFF int
	// Hysteresis is how far below XOFF the bytes must fall before XON; 0: 3 KiB.
	Hysteresis int
}

const defaultReceiveBuffer = 256 << 10

func (r *Receiver) check() error {
	if r.Rate < 0 {
		return fmt.Errorf("%w: a receiver of %d bits per second", ErrConfig, r.Rate)
	}
	for _, bytes := range []int{r.Buffer, r.XOFF, r.Hysteresis} {
		if bytes < 0 || bytes >= 1<<30 {
			return fmt.Errorf("%w: %d bytes for a receiver, must be 0 to 1 GiB", ErrConfig, bytes)
		}
	}
	return nil
}

// withDefaults is the receiver at a NIC.
func (r Receiver) withDefaults(nic *egress, mtu int) Receiver {
	if r.Buffer == 0 {
		r.Buffer = defaultReceiveBuffer
	}
	if r.XOFF == 0 {
		r.XOFF = max(r.Buffer/4, r.Buffer-Headroom(nic.nominal, nic.speed.delay, nic.reaction, largestPacket(mtu)))
	}
	if r.Hysteresis == 0 {
		r.Hysteresis = defaultHysteresis
	}
	return r
}

// SlowReceiver makes the NICs of a host slow to take packets from an instant on, for a
// duration, or for ever if that is zero. It takes the place of a slowness before. When the
// slowness ends, the host gets at once what waits.
func (n *Network) SlowReceiver(at Time, host int, r Receiver, duration Time) error {
	if host < 0 || host >= len(n.hosts) {
		return fmt.Errorf("%w: there is no host %d of %d", ErrConfig, host, len(n.hosts))
	}
	if duration < 0 {
		return fmt.Errorf("%w: a slow receiver for %v", ErrConfig, duration)
	}
	if err := r.check(); err != nil {
		return err
	}
	h := n.hosts[host]
	start := max(at, h.now())
	for _, nic := range h.nics {
		b := &receiveBuffer{Receiver: r.withDefaults(nic, n.cfg.MTU), host: h, nic: nic}
		b.alarm.f = b.drained
		h.call(start, b.begin)
		if duration > 0 {
			h.call(start+duration, b.end)
		}
	}
	return nil
}

// receiveBuffer is what waits in a NIC that is slow.
type receiveBuffer struct {
	Receiver
	host    *host
	nic     *egress
	queue   queue
	busy    bool  // its first packet is being taken out
	stopped uint8 // priorities for which XOFF was sent
	alarm   call
}

// begin makes the NIC slow.
func (b *receiveBuffer) begin() {
	rare := b.nic.extras()
	if rare.receiver != nil {
		rare.receiver.end()
	}
	rare.receiver = b
	b.nic.ingress().slow = true
}

// end lets the host have what waits, and what comes.
func (b *receiveBuffer) end() {
	if b.nic.rare.receiver != b {
		return // another has taken its place
	}
	b.nic.rare.receiver = nil
	b.nic.ingress().slow = false
	b.release()
	for b.queue.head != nil {
		b.host.arrive(b.queue.pop())
	}
}

// arrive takes a packet from the link, if there is room.
func (b *receiveBuffer) arrive(p *packet) {
	if int(b.queue.bytes+p.size) > b.Buffer {
		b.nic.guarded().dropped++
		b.host.shard.pool.put(p)
		return
	}
	b.queue.push(p)
	if over := b.queue.bytes - int32(b.XOFF); over > 0 {
		b.stop(p.priority)
		b.nic.guard.most = max(b.nic.guard.most, over)
	}
	b.drain()
}

// drain begins to take the first packet out, unless it has begun.
func (b *receiveBuffer) drain() {
	if b.busy || b.Rate == 0 || b.queue.head == nil {
		return
	}
	b.busy = true
	b.host.callAgain(b.host.now()+Time(int64(b.queue.head.size)*8*int64(Second)/b.Rate), &b.alarm)
}

// drained hands the first packet to the host.
func (b *receiveBuffer) drained() {
	b.busy = false
	if b.queue.head == nil {
		return // the slowness is over
	}
	p := b.queue.pop()
	if int(b.queue.bytes) <= max(0, b.XOFF-b.Hysteresis) {
		b.release()
	}
	b.host.arrive(p)
	b.drain()
}

func (b *receiveBuffer) stop(priority uint8) {
	bit := uint8(1) << priority
	if b.stopped&bit == 0 {
		b.stopped |= bit
		b.nic.guarded().refresh[priority].stop(b.nic, priority, LongestPause)
	}
}

// release sends XON for what is stopped.
func (b *receiveBuffer) release() {
	for b.stopped != 0 {
		priority := bits.TrailingZeros8(b.stopped)
		b.stopped &= b.stopped - 1
		b.nic.guard.refresh[priority].release()
	}
}

// ingress is the receiving half of the same port.
func (e *egress) ingress() *ingress { return e.peer.twin.peer }
