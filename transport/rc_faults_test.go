package transport

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/braid-rdma/braid/wire"
)

// badNetwork loses, repeats and reorders packets by a seed.
type badNetwork struct {
	*rand.Rand
	loss, repeat, reorder float64
	acksOnly, dataOnly    bool
}

func (n *badNetwork) copies(_ *rcEnd, p *Packet) int {
	isAck := !p.Opcode.IsRequest()
	if (!n.acksOnly || isAck) && (!n.dataOnly || !isAck) && n.Float64() < n.loss {
		return 0
	}
	if n.Float64() < n.repeat {
		return 1 + n.IntN(3)
	}
	return 1
}

func (n *badNetwork) swap(f []flying) {
	for i := 1; i < len(f); i++ {
		if n.Float64() < n.reorder {
			f[i-1], f[i] = f[i], f[i-1]
		}
	}
}

var badNetworks = map[string]badNetwork{
	"perfect":      {},
	"loss":         {loss: 0.05},
	"ack loss":     {loss: 0.2, acksOnly: true},
	"data loss":    {loss: 0.1, dataOnly: true},
	"duplication":  {repeat: 0.5},
	"reordering":   {reorder: 0.1},
	"all together": {loss: 0.03, repeat: 0.2, reorder: 0.05},
}

// TestRCFaults (faults, rows 1, 3, 6, 9, 15): whatever the network does, every
// request completes once, in order, and memory is as if it had done nothing.
func TestRCFaults(t *testing.T) {
	for name, network := range badNetworks {
		for seed := range uint64(40) {
			t.Run(fmt.Sprintf("%s/%d", name, seed), func(t *testing.T) {
				network := network
				network.Rand = rand.New(rand.NewPCG(seed, 5))
				newConversation(t, &network, RCOptions{}).check()
			})
		}
	}
}

// TestRCFaultsWithOptions: the same holds with other ways to recover and to send.
func TestRCFaultsWithOptions(t *testing.T) {
	restart := RCOptions{Recovery: GoBackZero}
	both := DCQCNHPCC(10e9).Options()
	both.Recovery = GoBackZero
	for option, o := range map[string]RCOptions{"go-back-0": restart, "DCQCN": DCQCNAuthors(1e9).Options(), "both": both} {
		for name, network := range badNetworks {
			for seed := range uint64(10) {
				t.Run(fmt.Sprintf("%s/%s/%d", option, name, seed), func(t *testing.T) {
					network := network
					network.Rand = rand.New(rand.NewPCG(seed, 6))
					network.reorder /= 5 // to go-back-0 each is the loss of a message, and retries run out
					newConversation(t, &network, o).check()
				})
			}
		}
	}
}

const conversationOps = 60

// conversation is a random list of operations with one slot of memory for each,
// so that the outcome of every one can be checked on its own.
type conversation struct {
	*rcPair
	random  *rand.Rand
	ops     []Op
	lengths []int
	slots   *Region // a's slots: sources and results
	remote  *Region // b's slots: targets of WRITE, sources of READ
	counter *Region // b's counter for atomics
	inbox   *Region // b's receive buffers
	sends   int
	adds    int
}

const slotSize = 2000

func newConversation(t *testing.T, n *badNetwork, o RCOptions) *conversation {
	p := newRCPairWith(t, func(a *Attr) {
		a.SendPSN, a.RecvPSN, a.Window, a.RNRRetry = 0xffffe0, 0xfffff0, 1+n.IntN(40), 7
		a.Reads, a.ReadsServed = 1+n.IntN(4), 4
	}, o)
	p.copies, p.swap = n.copies, n.swap
	const size = conversationOps * slotSize
	c := &conversation{
		rcPair: p, random: n.Rand,
		slots: p.a.mem.register(7, size, allAccess), remote: p.b.mem.register(7, size, allAccess),
		counter: p.b.mem.register(7, 8, allAccess), inbox: p.b.mem.register(7, size, allAccess),
	}
	fill(c.slots.Bytes, 1)
	fill(c.remote.Bytes, 2)
	for range conversationOps {
		c.add()
	}
	return c
}

func (c *conversation) add() {
	i := len(c.ops)
	op := []Op{OpSend, OpSendImm, OpWrite, OpWriteImm, OpRead, OpFetchAdd}[c.random.IntN(6)]
	n := c.random.IntN(slotSize)
	wr := SendWR{Op: op, RemoteAddr: c.remote.Base + uint64(i*slotSize), RKey: c.remote.RKey, Imm: uint32(i)}
	if op == OpFetchAdd {
		n = 8
		wr.RemoteAddr, wr.RKey, wr.SwapAdd = c.counter.Base, c.counter.RKey, 1
		c.adds++
	}
	if c.random.IntN(8) == 0 {
		wr.Flags = Fence
	}
	wr.SGEs = scatter(c.slots, i*slotSize, n)
	if op == OpFetchAdd {
		wr.SGEs = []SGE{c.slots.span(i*slotSize, 8)}
	}
	c.ops, c.lengths = append(c.ops, op), append(c.lengths, n)
	c.a.post(wr)
}

// supply posts another receive now and then, so that RNR happens too.
func (c *conversation) supply() {
	wanted := 0
	for _, op := range c.ops {
		if op.consumesReceive() {
			wanted++
		}
	}
	for c.sends < wanted && c.random.IntN(3) != 0 {
		wr := RecvWR{ID: uint64(c.sends), SGEs: []SGE{c.inbox.span(c.sends*slotSize, slotSize)}}
		if err := c.b.PostRecv(&wr); err != nil {
			c.t.Fatal(err)
		}
		c.sends++
	}
}

func (c *conversation) check() {
	before := append([]byte(nil), c.slots.Bytes...)
	remote := append([]byte(nil), c.remote.Bytes...)
	for range 1 << 14 {
		c.supply()
		c.run()
		next := min(c.a.Timeout(), c.b.Timeout())
		if next == Never {
			break
		}
		c.now = max(c.now, next)
		c.a.HandleTimeout(c.now)
		c.b.HandleTimeout(c.now)
	}
	var done Completion
	for i := range c.ops {
		if !c.a.PollCompletion(&done) || done.WRID != uint64(i+1) || done.Status != Success {
			c.t.Fatalf("operation %d (%v) completed as %+v", i+1, c.ops[i], done)
		}
	}
	if c.a.PollCompletion(&done) {
		c.t.Fatalf("one completion too many: %+v", done)
	}
	c.checkMemory(before, remote)
}

func (c *conversation) checkMemory(before, remote []byte) {
	received, added := 0, uint64(0)
	for i, op := range c.ops {
		at, n := i*slotSize, c.lengths[i]
		switch op {
		case OpWrite, OpWriteImm:
			wantBytes(c.t, fmt.Sprint("WRITE ", i), c.remote.Bytes[at:at+n], before[at:at+n])
		case OpRead:
			wantBytes(c.t, fmt.Sprint("READ ", i), c.slots.Bytes[at:at+n], remote[at:at+n])
		case OpFetchAdd:
			if got := binary.NativeEndian.Uint64(c.slots.Bytes[at:]); got != added {
				c.t.Fatalf("atomic %d answered %d, want %d", i, got, added)
			}
			added++
		}
		if op.consumesReceive() {
			c.checkReceive(i, received, before[at:at+n])
			received++
		}
	}
	if c.b.mem.atomics != c.adds || binary.NativeEndian.Uint64(c.counter.Bytes) != added {
		c.t.Fatalf("%d atomics ran for %d requests", c.b.mem.atomics, c.adds)
	}
}

func (c *conversation) checkReceive(i, nth int, want []byte) {
	var done Completion
	if !c.b.PollCompletion(&done) || done.WRID != uint64(nth) || int(done.Bytes) != len(want) || done.Status != Success {
		c.t.Fatalf("receive %d for operation %d completed as %+v", nth, i, done)
	}
	if done.HasImm && done.Imm != uint32(i) {
		c.t.Fatalf("receive %d carries immediate %d, want %d", nth, done.Imm, i)
	}
	if done.Op == OpRecv {
		wantBytes(c.t, fmt.Sprint("SEND ", i), c.inbox.Bytes[nth*slotSize:nth*slotSize+len(want)], want)
	}
}

// TestRCEveryNthLost (faults, row 3): loss that keeps step with the window must
// not keep a long message from ending.
func TestRCEveryNthLost(t *testing.T) {
	for _, window := range []int{3, 4, 10, 16, 64, 256} {
		for _, op := range []Op{OpWrite, OpRead} {
			p := newRCPair(t, func(a *Attr) { a.Window = window })
			n := 0
			p.copies = func(_ *rcEnd, out *Packet) int {
				if out.Length > 0 {
					if n++; n%window == 0 {
						return 0
					}
				}
				return 1
			}
			const size = 1000 * 256
			local, remote := p.a.mem.register(7, size, allAccess), p.b.mem.register(7, size, allAccess)
			fill(local.Bytes, 3)
			fill(remote.Bytes, 4)
			p.a.post(SendWR{Op: op, SGEs: []SGE{local.span(0, size)}, RemoteAddr: remote.Base, RKey: remote.RKey})
			p.settle()
			p.a.wantCompletions(fmt.Sprint(op, " window ", window), "1 SUCCESS")
			wantBytes(t, "moved", remote.Bytes, local.Bytes)
		}
	}
}

// TestRCEveryNthOfBothDirectionsLost: the narrowest window and its acknowledgement
// must not keep step with the loss either, or every retry would lose the same packet
// of its flight.
func TestRCEveryNthOfBothDirectionsLost(t *testing.T) {
	for every := 4; every <= 16; every++ {
		p := newRCPair(t, func(a *Attr) { a.Window = 256 })
		n := 0
		p.copies = func(*rcEnd, *Packet) int {
			if n++; n%every == 0 {
				return 0
			}
			return 1
		}
		const size = 64 * 256
		local, remote := p.a.mem.register(7, size, allAccess), p.b.mem.register(7, size, allAccess)
		fill(local.Bytes, 3)
		p.a.post(SendWR{Op: OpWrite, SGEs: []SGE{local.span(0, size)}, RemoteAddr: remote.Base, RKey: remote.RKey})
		p.settle()
		p.a.wantCompletions(fmt.Sprint("one of ", every, " lost"), "1 SUCCESS")
		wantBytes(t, "moved", remote.Bytes, local.Bytes)
	}
}

// TestRCReorderingCostsLittle (faults, row 7): where every flight is out of order
// a round trip brings go-back-N forward by one packet, whatever it sends; so it
// must not send half a window for it each time.
func TestRCReorderingCostsLittle(t *testing.T) {
	const packets, window = 200, 256
	p := newRCPair(t, func(a *Attr) { a.Window = window })
	p.swap = func(f []flying) {
		if len(f) > 1 {
			f[0], f[1] = f[1], f[0]
		}
	}
	local, remote := p.a.mem.register(7, packets*256, allAccess), p.b.mem.register(7, packets*256, allAccess)
	fill(local.Bytes, 3)
	write := SendWR{Op: OpWrite, SGEs: []SGE{local.span(0, packets*256)}, RemoteAddr: remote.Base, RKey: remote.RKey}
	p.a.post(write)
	p.settle()
	p.a.wantCompletions("out of order", "1 SUCCESS")
	wantBytes(t, "moved", remote.Bytes, local.Bytes)
	if again, most := p.a.Counters().Retransmitted, uint64(8*packets); again > most {
		t.Errorf("%d packets were sent again for %d, want at most %d", again, packets, most)
	}

	p.swap = nil
	p.a.post(write)
	p.a.post(write)
	p.settle()
	p.a.wantCompletions("in order again", "2 SUCCESS", "3 SUCCESS")
	if got := p.a.req.allowed; got != window {
		t.Errorf("%d packets may be in flight after 400 in order, want the whole window of %d", got, window)
	}
}

// TestRCBothDirections: both ends read and write at the same time.
func TestRCBothDirections(t *testing.T) {
	p := newRCPair(t, nil)
	fill(p.a.region.Bytes[:20000], 1)
	fill(p.b.region.Bytes[:20000], 2)
	want := append(append([]byte(nil), p.b.region.Bytes[:20000]...), p.a.region.Bytes[:20000]...)
	for _, e := range []*rcEnd{p.a, p.b} {
		far := p.peer(e).region
		e.post(SendWR{Op: OpRead, SGEs: []SGE{e.region.span(20000, 20000)}, RemoteAddr: far.Base, RKey: far.RKey})
		e.post(SendWR{Op: OpWrite, SGEs: []SGE{e.region.span(0, 20000)}, RemoteAddr: far.Base + 40000, RKey: far.RKey})
	}
	p.settle()
	for _, e := range []*rcEnd{p.a, p.b} {
		e.wantCompletions("both", "1 SUCCESS", "2 SUCCESS")
	}
	wantBytes(t, "read by a, written by a", append(append([]byte(nil), p.a.region.Bytes[20000:40000]...), p.b.region.Bytes[40000:60000]...), want)
}

// TestRCStaleCycle (faults, row 16) documents the bound of 24-bit numbers: a
// packet from less than half a cycle ago is a duplicate.
func TestRCStaleCycle(t *testing.T) {
	s := newRCScript(t, nil)
	if s.request(wire.WriteOnly, 0x800001, 4, nil) == Place {
		t.Error("a packet from before was executed")
	}
	s.wantSent("taken for a duplicate", "ACK 16777215")
	if s.request(wire.WriteOnly, 0x7fffff, 4, nil) == Place {
		t.Error("a packet from ahead was executed")
	}
	s.wantSent("taken for one ahead", "NAK_PSN_SEQUENCE 0")
}
