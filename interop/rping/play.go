package rping

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/braid-rdma/braid/cm"
	"github.com/braid-rdma/braid/verbs"
)

// Serve replies to pings until the peer ends the connection, and returns how many
// these were.
func (e *End) Serve(ctx context.Context, conn *cm.Conn) (pings int, err error) {
	for {
		replied, err := e.serveOne(ctx)
		if replied {
			pings++
		}
		switch {
		case err == nil:
		case errors.Is(err, verbs.ErrFlushed):
			// The queue pair is in the error state when the peer has left, and when
			// something else has happened.
			<-conn.Done()
			if errors.Is(conn.Err(), cm.ErrPeerClosed) {
				return pings, nil
			}
			return pings, conn.Err()
		default:
			return pings, err
		}
	}
}

// serveOne replies to one ping. The reply is out before the last word: a client that
// has received it may leave before we learn that it did.
func (e *End) serveOne(ctx context.Context) (replied bool, err error) {
	from, err := e.invited(ctx)
	if err != nil {
		return false, err
	}
	if err := e.do(ctx, e.transfer(verbs.OpRead, from, int(from.size))); err != nil {
		return false, err
	}
	if err := e.say(ctx, invitation{}); err != nil {
		return false, err
	}
	to, err := e.invited(ctx)
	if err != nil {
		return false, err
	}
	// As rping does, the reply ends with the text.
	text := e.reply.Bytes()[:from.size]
	length := bytes.IndexByte(text, 0) + 1
	if length == 0 || length > int(to.size) {
		return false, fmt.Errorf("%w: a text without an end", ErrMessage)
	}
	if err := e.do(ctx, e.transfer(verbs.OpWrite, to, length)); err != nil {
		return false, err
	}
	return true, e.say(ctx, invitation{})
}

// invited waits for an invitation of the client.
func (e *End) invited(ctx context.Context) (invitation, error) {
	message, err := e.receive(ctx)
	if err != nil {
		return invitation{}, err
	}
	return parseInvitation(message)
}

// transfer moves the memory of the reply from or to where the client says.
func (e *End) transfer(op verbs.Op, i invitation, length int) *verbs.SendWR {
	return &verbs.SendWR{Op: op, RemoteAddr: i.addr, RKey: i.rkey, SGEs: []verbs.SGE{e.reply.SGE(0, length)}}
}

// Ping sends pings of a size, and compares every reply.
func (e *End) Ping(ctx context.Context, count, size int) error {
	if size < 1 || size > MaxSize {
		return fmt.Errorf("%w: a ping of %d bytes", ErrMessage, size)
	}
	for ping := range count {
		text := e.ping.Bytes()[:size]
		for i := range text {
			text[i] = 'A' + byte((i+ping)%58)
		}
		text[size-1] = 0
		for _, memory := range []*verbs.MR{e.ping, e.reply} {
			if err := e.say(ctx, invitation{memory.Addr(), memory.RKey(), uint32(size)}); err != nil {
				return err
			}
			if _, err := e.receive(ctx); err != nil {
				return err
			}
		}
		came := make([]byte, size)
		if err := e.reply.Load(0, came); err != nil {
			return err
		}
		if !bytes.Equal(came, text) {
			return fmt.Errorf("%w: ping %d of %d bytes", ErrData, ping, size)
		}
	}
	return nil
}
