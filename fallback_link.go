package braid

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/braid-rdma/braid/internal/tunnel"
)

// Control frames between the two ends of a TCP connection: a kind, and what it says.
const (
	controlTCP   = 1 // I send by TCP; a flag: by command
	controlUDP   = 2 // I send by UDP; a flag: by command, so do the same
	controlHeard = 3 // your probe with this number (3 bytes) has come by UDP
	controlBye   = 4 // the channel is closed
)

func flagIf(set bool) byte {
	if set {
		return 1
	}
	return 0
}

// link is a TCP connection that carries packets of the channel.
type link struct {
	f      *fallback
	tunnel *tunnel.Tunnel
}

// Packets implements tunnel.Handler. They may be for this queue pair only, which the engine checks.
func (l *link) Packets(packets [][]byte) { _ = l.f.ch.qp.Inject(packets) } // one that is closed wants none

// Control implements tunnel.Handler.
func (l *link) Control(frame []byte) {
	in := input{kind: inputControl, link: l}
	copy(in.control[:], frame)
	l.f.tell(in)
}

// Writable implements tunnel.Handler.
func (l *link) Writable() { _ = l.f.ch.qp.Resume() }

// Ended implements tunnel.Handler.
func (l *link) Ended(reason error) { l.f.tell(input{kind: inputLinkEnded, link: l, err: reason}) }

// use makes a connection that of the channel; there is none.
func (f *fallback) use(conn net.Conn, ours bool) {
	_ = conn.SetDeadline(time.Time{})
	f.link, f.linkOurs, f.linkedAt = &link{f: f}, ours, time.Now()
	f.peerOnTCP, f.peerPinned, f.retry = false, false, 0
	f.link.tunnel = tunnel.Start(conn, max(minLifetime, f.patience/2), f.link)
	f.ch.context.background.Go(f.link.tunnel.Wait)
}

// minLifetime is the least time that a packet may take through TCP, or else the connection is given up. TCP
// itself needs some for what is lost. It must not be long either: a packet that arrives
// when 2^23 others have passed it by UDP would be taken for a new one.
const minLifetime = 2 * time.Second

// opening is an attempt to open a connection.
type opening struct {
	cancel  context.CancelFunc
	silence bool // the peer is silent; else a command wants it
}

// open opens a TCP connection to the peer, unless that is being done.
func (f *fallback) open(silence bool) {
	if f.opening != nil {
		f.opening.silence = f.opening.silence || silence
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), max(minOpening, f.patience/openingShare))
	o := &opening{cancel, silence}
	f.opening = o
	f.ch.context.background.Go(func() {
		defer cancel()
		conn, err := f.ch.context.streams.open(ctx, f)
		if !f.tell(input{kind: inputOpened, opening: o, conn: conn, err: err}) && conn != nil {
			_ = conn.Close()
		}
	})
}

// opened is the end of an attempt.
func (f *fallback) opened(in *input) {
	if in.opening != f.opening {
		if in.conn != nil {
			_ = in.conn.Close() // the peer's connection was preferred
		}
		return
	}
	f.opening = nil
	f.mu.Lock()
	f.state.err = in.err
	f.mu.Unlock()
	switch {
	case in.err != nil:
		f.reply(fmt.Errorf("%w: %w", ErrNoTCP, in.err))
		if f.mode == CarrierTCP {
			f.retryLater()
		}
	case len(f.commands) == 0 && (f.mode == CarrierUDP || f.mode == CarrierAuto && !in.opening.silence):
		_ = in.conn.Close() // another command has come
	default:
		f.use(in.conn, true)
		f.linked()
	}
}

// linked moves to TCP once there is a connection.
func (f *fallback) linked() {
	switch {
	case len(f.commands) > 0:
		f.commanded()
	case f.mode == CarrierTCP:
		f.moveToTCP(MovedOnCommand)
	default:
		f.moveToTCP(MovedBySilence)
	}
}

// offer takes a connection that the peer has opened and shown the token of.
func (f *fallback) offer(conn net.Conn) {
	if !f.tell(input{kind: inputOffer, conn: conn}) {
		_ = conn.Close()
	}
}

// offered accepts a connection of the peer, or not: when both ends open one at the same time,
// that of the side which has dialled the channel stays.
func (f *fallback) offered(conn net.Conn) {
	if f.dialled && (f.opening != nil || f.link != nil && f.linkOurs) {
		_, _ = conn.Write([]byte{refused})
		_ = conn.Close()
		return
	}
	if _, err := conn.Write(append([]byte{accepted}, f.peer[:]...)); err != nil {
		_ = conn.Close()
		return
	}
	wanted := f.opening != nil || f.mode == CarrierTCP
	if f.opening != nil {
		f.opening.cancel()
		f.opening = nil
	}
	// A connection that there was before has ended at the peer.
	f.closeLink(MovedByBrokenTCP, errors.New("braid: the peer has opened another TCP connection"))
	f.use(conn, false)
	if wanted {
		f.linked()
	}
}

// control is what the peer says.
func (f *fallback) control(frame [4]byte) {
	set := frame[1] == 1
	switch frame[0] {
	case controlTCP:
		f.peerOnTCP, f.peerPinned = true, set
		switch {
		case !f.onTCP && f.mode != CarrierUDP:
			f.moveToTCP(MovedByPeer)
		case f.onTCP:
			f.startProbing()
		}
	case controlUDP:
		f.peerOnTCP, f.peerPinned = false, false
		switch {
		case f.onTCP && set && f.mode != CarrierTCP:
			f.moveToUDP(MovedByPeer, nil)
		case f.onTCP:
			f.startProbing()
		default:
			f.closeIfUnused()
		}
	case controlHeard:
		f.heard(uint32(frame[1])<<16 | uint32(frame[2])<<8 | uint32(frame[3]))
	case controlBye:
		f.ch.end(fmt.Errorf("braid: the channel has ended: %w", ErrPeerClosed))
	}
}
