package braid

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/braid-rdma/braid/cm"
	"github.com/braid-rdma/braid/internal/session"
	"github.com/braid-rdma/braid/verbs"
)

// hello is what the two ends tell each other of themselves, in the private data of the
// connection manager:
//
//	bytes   field
//	0-2     "brd"
//	3       version
//	4-7     longest small message
//	8-11    longest message
//	12-13   messages that may be sent at first
//	14-15   TCP port for Mock; 0: none
//	16-31   with it, what the peer must know that opens a connection there
//
// A hello may be longer or, from peers that know less, shorter: it ends after byte 13 then.
type hello struct {
	small, maxMessage, window int
	tcpPort                   uint16
	token                     token
}

// maxInline is up to which length a frame is copied when it is posted, so that its memory is free
// again at once. It is longer than any frame without a message, which has a bit for each
// message that may wait for the application and for each call.
const maxInline = 280

// retries is as many as a queue pair may have; it gives up after one interval more.
const retries = 7

const (
	helloLen     = 14 // without TCP
	helloTCPLen  = helloLen + 2 + len(token{})
	helloVersion = 2
)

func (h *hello) bytes() []byte {
	b := append(make([]byte, 0, helloTCPLen), 'b', 'r', 'd', helloVersion)
	b = binary.BigEndian.AppendUint32(b, uint32(h.small))
	b = binary.BigEndian.AppendUint32(b, uint32(h.maxMessage))
	b = binary.BigEndian.AppendUint16(b, uint16(h.window))
	if h.tcpPort == 0 {
		return b
	}
	return append(binary.BigEndian.AppendUint16(b, h.tcpPort), h.token[:]...)
}

func (h *hello) parse(b []byte) error {
	if len(b) < helloLen || string(b[:3]) != "brd" {
		return ErrNotBraid
	}
	if b[3] != helloVersion {
		return fmt.Errorf("%w: version %d, this is version %d", ErrNotBraid, b[3], helloVersion)
	}
	h.small = int(binary.BigEndian.Uint32(b[4:]))
	h.maxMessage = int(binary.BigEndian.Uint32(b[8:]))
	h.window = int(binary.BigEndian.Uint16(b[12:]))
	if len(b) >= helloTCPLen {
		h.tcpPort, h.token = binary.BigEndian.Uint16(b[14:]), token(b[16:])
	}
	if h.small < 1 || h.small > maxSmall || h.maxMessage < 1 || h.maxMessage > maxMessage || h.window > maxWindow {
		return fmt.Errorf("%w: messages of %d and %d bytes, a window of %d", ErrPeer, h.small, h.maxMessage, h.window)
	}
	return nil
}

// Dial connects to a context that listens at an address of the form host:port.
func (c *Context) Dial(ctx context.Context, address string) (*Channel, error) {
	ch, options, err := c.add()
	if err != nil {
		return nil, err
	}
	ch.dialled = true
	conn, err := c.manager.Dial(ctx, address, options)
	if err == nil {
		err = ch.establish(conn, nil)
	}
	if err != nil {
		ch.abandon(err)
		return nil, fmt.Errorf("braid: dial %s: %w", address, err)
	}
	return ch, nil
}

// options are those of the connection. Only the owner calls it.
func (ch *Channel) options() cm.Options {
	cfg := ch.asked
	// The receives for the first window are posted before the peer can know of it.
	h := hello{small: cfg.SmallMessage, maxMessage: cfg.MaxMessage, window: minWindow}
	if s := ch.context.streams; s != nil {
		ch.token = newToken(ch.context.engine)
		h.tcpPort, h.token = s.port(), ch.token
	}
	return cm.Options{
		PD: ch.context.pd, QP: cfg.queuePair(ch.context.cq), Ready: ch.qp,
		NoTicket:    cfg.QPCache < 0,
		PrivateData: h.bytes(),
		Prepare:     ch.prepare,
	}
}

// queuePair are the options of a channel's queue pair.
func (c *Config) queuePair(cq *verbs.CQ) verbs.QPOptions {
	kind := verbs.MP
	if c.SinglePath {
		kind = verbs.RC
	}
	options, _ := c.chosen() // which was checked
	return verbs.QPOptions{
		Type: kind, MP: options, SendCQ: cq, SendDepth: c.sendDepth(), RecvDepth: c.receiveDepth(),
		MaxSendSGE: 1, MaxRecvSGE: 1, MaxInline: maxInline,
		Conn: verbs.ConnOptions{
			Keepalive: c.Keepalive, Reads: readsPerChannel, ReadsServed: readsPerChannel,
			AckTimeout: c.Patience / (retries + 1), RetryCount: retries,
		},
	}
}

// prepare gives the channel its queue pair. One of the cache has had to change its type, and flushed what was posted.
func (ch *Channel) prepare(qp *verbs.QP) (err error) {
	ch.context.exclusive(func() {
		if ch.qp != nil {
			ch.context.handleAll()
			ch.broken = false
		}
		err = ch.adopt(qp, ch.asked) // the peer was told of it
	})
	return err
}

// adopt posts the receives that the peer may need at once.
func (ch *Channel) adopt(qp *verbs.QP, by *Config) error {
	ch.qp = qp
	cfg := by.session()
	cfg.Epoch = ch.context.tracer.epoch
	ch.session = session.New(cfg)
	if err := ch.postReceives(); err != nil {
		return err
	}
	ch.session.Granted()
	return nil
}

// establish begins the traffic, and offers the channel to a listener, if it is of one.
func (ch *Channel) establish(conn *cm.Conn, l *Listener) error {
	var h hello
	if err := h.parse(conn.PrivateData()); err != nil {
		conn.Close()
		return err
	}
	var err error
	ch.context.exclusive(func() {
		ch.conn, ch.peer, ch.small = conn, h, min(h.small, ch.context.cfg.SmallMessage)
		ch.addresses = &addresses{conn.LocalAddr(), conn.RemoteAddr()}
		ch.session.Grant(h.window)
		ch.session.Bundle(ch.small + session.MaxHeader)
		ch.beginPublishing()
		if err = ch.Err(); err != nil {
			ch.context.background.Go(ch.disconnect)
			return
		}
		ch.follow(ch.asked, &ch.context.cfg) // what Update has changed meanwhile
		ch.asked = nil
		ch.prepareFallback()
		ch.logOpen()
		ch.context.touch(ch) // messages may have come already
		if l != nil {
			l.offer(ch)
		}
		if ch.broken {
			ch.broken = false
			ch.queuePairFailed()
		}
	})
	return err
}

// abandon forgets a channel that did not come to be, and messages that have come by it all the same: a
// peer may send before its last word of the handshake has arrived. The queue pair is closed.
func (ch *Channel) abandon(err error) {
	ch.context.exclusive(func() {
		if ch.conn != nil {
			return
		}
		ch.fail(err)
		ch.context.forget(ch)
		for len(ch.incoming) > 0 {
			m := <-ch.incoming
			ch.context.bulk.taken(m)
			m.Release()
		}
	})
}

// refusal is what a peer is told whose hello is not understood.
func refusal(err error) []byte {
	text := err.Error()
	return []byte(text[:min(len(text), cm.MaxRejectData)])
}
