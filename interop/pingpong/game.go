package pingpong

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/braid-rdma/braid/verbs"
)

// firstByte fills the memory of the programs at their start.
const firstByte = 0x7b

// game counts the messages of an end.
type game struct {
	sent, received int
	unacknowledged int // of those sent: the peer had left before it acknowledged them
	unused         int // receives taken and not yet replaced
	ready          []turn
	expected       []byte // what the next message must hold
}

// turn is what a queue pair waits for before it sends again.
type turn struct{ sending, receiving bool }

// play runs until both ends have had their messages. As in the programs, the
// client begins, and a queue pair sends when its last message is acknowledged
// and the reply is there.
func (p *Peer) play(ctx context.Context) error {
	g := &p.game
	g.ready = make([]turn, len(p.qps))
	g.expected = bytes.Repeat([]byte{firstByte}, p.config.Size)
	for i := range p.qps {
		g.ready[i].receiving = true
		if p.client {
			if err := p.send(i); err != nil {
				return err
			}
		}
	}
	for !p.complete() {
		n, err := p.cq.Wait(ctx, p.completions)
		if err != nil {
			return fmt.Errorf("pingpong: %d sent, %d received of %d: %w", g.sent, g.received, p.config.Iterations, err)
		}
		// Behind the last message of a queue pair that has failed come the
		// receives that it flushes: they are not part of the game.
		for i := 0; i < n && !p.complete(); i++ {
			if err := p.take(&p.completions[i]); err != nil {
				return err
			}
		}
	}
	// The client has a reply to each message, so all of them arrived.
	if g.unacknowledged > 0 && !p.client {
		return ErrUnacknowledged
	}
	return nil
}

// complete reports whether this end has sent and received all its messages.
func (p *Peer) complete() bool {
	return p.game.sent >= p.config.Iterations && p.game.received >= p.config.Iterations
}

// peerLeft reports whether a failed completion is that of a message behind which
// nothing was to come. The programs exit when they have all messages and all
// acknowledgements, so nobody is left to repeat the acknowledgement of our last
// message if it is lost; and a reliable connection gives no acknowledgement of an
// acknowledgement, so no retry can help.
func (p *Peer) peerLeft(c *verbs.Completion) bool {
	return c.Op != verbs.OpRecv && errors.Is(c.Err(), verbs.ErrRetryExceeded) && p.game.received >= p.config.Iterations
}

// take takes in one completion, and sends if it was the last that its queue
// pair waited for.
func (p *Peer) take(c *verbs.Completion) error {
	if err := c.Err(); err != nil {
		if !p.peerLeft(c) {
			return err
		}
		p.game.unacknowledged++
	}
	g, pair := &p.game, p.pairOf[c.QPN]
	t := &g.ready[pair]
	if c.Op == verbs.OpRecv {
		if err := p.check(c); err != nil {
			return err
		}
		g.received++
		t.receiving = false
		if g.unused++; g.unused >= p.config.Depth/2 {
			if err := p.postReceives(g.unused); err != nil {
				return err
			}
			g.unused = 0
		}
	} else {
		g.sent++
		t.sending = false
	}
	if t.sending || t.receiving || g.sent >= p.config.Iterations {
		return nil
	}
	return p.send(pair)
}

// check looks at a message. With several queue pairs the program's one buffer
// may hold anybody's message, so only the length can be checked.
func (p *Peer) check(c *verbs.Completion) error {
	header := 0
	if p.config.Program == UD {
		header = verbs.GRHLength
	}
	if int(c.Bytes) != p.config.Size+header {
		return fmt.Errorf("%w: %d bytes, not %d", ErrData, c.Bytes, p.config.Size+header)
	}
	start := p.room() + header
	came := p.memory.Bytes()[start : start+p.config.Size]
	if len(p.qps) == 1 && !bytes.Equal(came, p.game.expected) {
		return fmt.Errorf("%w: message %d of %d bytes", ErrData, p.game.received, p.config.Size)
	}
	return nil
}

// send sends bytes that no earlier message had. The peer's reply must hold
// the same.
func (p *Peer) send(pair int) error {
	g := &p.game
	if len(p.qps) == 1 {
		out := p.memory.Bytes()[:p.config.Size]
		for i := range out {
			out[i] = byte(i*7 + i>>8 + g.sent + 1)
		}
		copy(g.expected, out)
	}
	g.ready[pair] = turn{sending: true, receiving: true}
	wr := verbs.SendWR{Op: verbs.OpSend, SGEs: []verbs.SGE{p.memory.SGE(0, p.config.Size)}}
	if p.config.Program == UD {
		wr.AH, wr.RemoteQPN, wr.RemoteQKey = p.ah, p.remotes[0].qpn, qkey
	}
	return p.qps[pair].PostSend(&wr)
}
