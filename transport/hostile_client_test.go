package transport

import "bytes"

// client is an honest peer. In each round it sends a message, writes, reads what
// it wrote, adds to a counter and waits for the reply; everything is checked.
type client struct {
	w       *hostileWorld
	number  int
	near    *port // its own queue pair
	far     *port // the device's
	memory  *testMemory
	window  *Region // of the device
	cell    *Region // of the device
	local   *Region // what is read, and the old value of the counter
	pattern *Region
	inbox   *Region

	began     Time
	rounds    int // complete
	arrived   int // messages at the device
	completed int // requests
	replied   int
}

const (
	clientWrite  = 3000 // bytes written and read in a round
	clientReply  = 64
	clientPeriod = 50 * Microsecond // a client begins no more rounds than that
	perRound     = 4                // requests
)

// content is what a client's n-th message and WRITE are made of.
func (c *client) content(n, length int) (offset int) {
	return (c.number*7919 + n*104729) % ((1 << 18) - length)
}

func (c *client) messageLength(n int) int { return 1 + (n*37)%1500 }

// next posts the requests of a round.
func (c *client) next() {
	n := c.rounds
	c.began = c.w.now
	length := c.messageLength(n)
	reply := RecvWR{ID: uint64(n), SGEs: []SGE{c.inbox.span(0, clientReply)}}
	if err := c.near.qp.PostRecv(&reply); err != nil {
		c.w.fail("%s: %v", c.near.name, err)
	}
	id := uint64(n * perRound)
	for i, wr := range []SendWR{
		{Op: OpSend, SGEs: []SGE{c.pattern.span(c.content(n, length), length)}},
		{Op: OpWrite, SGEs: []SGE{c.pattern.span(c.content(n, clientWrite), clientWrite)}, RKey: c.window.RKey, RemoteAddr: c.window.Base},
		{Op: OpRead, SGEs: []SGE{c.local.span(0, clientWrite)}, RKey: c.window.RKey, RemoteAddr: c.window.Base},
		{Op: OpFetchAdd, SGEs: []SGE{c.local.span(clientWrite, 8)}, RKey: c.cell.RKey, RemoteAddr: c.cell.Base, SwapAdd: 1},
	} {
		wr.ID, wr.Flags = id+uint64(i), Signaled
		if err := c.near.qp.PostSend(c.w.now, &wr); err != nil {
			c.w.fail("%s: %v", c.near.name, err)
		}
	}
	c.near.serve()
}

// report takes the completions of the client's queue pair.
func (c *client) report(got *Completion) {
	if got.Status != Success {
		c.w.fail("%s: %v %d failed: %v", c.near.name, got.Op, got.WRID, got.Status)
	}
	if got.Op == OpRecv {
		if int(got.WRID) != c.replied {
			c.w.fail("%s: reply %d, expected %d", c.near.name, got.WRID, c.replied)
		}
		c.replied++
	} else {
		if int(got.WRID) != c.completed {
			c.w.fail("%s: request %d completes, expected %d", c.near.name, got.WRID, c.completed)
		}
		c.completed++
		c.checkEffect(got)
	}
	if c.completed < (c.rounds+1)*perRound || c.replied <= c.rounds {
		return
	}
	c.rounds++
	c.w.at(max(c.w.now, c.began+clientPeriod), c.next)
}

// checkEffect checks that a completed request has happened.
func (c *client) checkEffect(got *Completion) {
	want := harnessPattern[c.content(c.rounds, clientWrite):][:clientWrite]
	switch got.Op {
	case OpSend:
		if c.arrived <= c.rounds {
			c.w.fail("%s: SEND %d completed before it arrived", c.near.name, got.WRID)
		}
	case OpWrite:
		if !bytes.Equal(c.window.Bytes, want) {
			c.w.fail("%s: WRITE %d left other bytes", c.near.name, got.WRID)
		}
	case OpRead:
		if !bytes.Equal(c.local.Bytes[:clientWrite], want) {
			c.w.fail("%s: READ %d brought other bytes", c.near.name, got.WRID)
		}
	case OpFetchAdd:
		if n := nativeUint64(c.local.Bytes[clientWrite:]); n != uint64(c.rounds) {
			c.w.fail("%s: the counter was %d in round %d", c.near.name, n, c.rounds)
		}
	}
}

// checkMessage checks a message at the device, and replies.
func (c *client) checkMessage(got []byte, length int) {
	n := c.arrived
	if want := c.messageLength(n); length != want || !bytes.Equal(got[:length], harnessPattern[c.content(n, length):][:length]) {
		c.w.fail("%s: message %d of %d bytes arrived with %d, or differs", c.near.name, n, want, length)
	}
	if len(bytes.Trim(got[length:], "\x00")) != 0 {
		c.w.fail("%s: the rest of the receive of message %d was written", c.near.name, n)
	}
	c.arrived++
	reply := SendWR{ID: uint64(n), Op: OpSend, SGEs: []SGE{c.w.device.open.span(0, clientReply)}}
	if err := c.far.qp.PostSend(c.w.now, &reply); err != nil {
		c.w.fail("%s: reply: %v", c.far.name, err)
	}
	c.w.device.wake()
}
