package netconn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/braid-rdma/braid"
)

// Network is what the addresses of connections return as their network.
const Network = "braid"

// Addr is the address of one end of a connection.
type Addr struct{ netip.AddrPort }

// Network implements net.Addr.
func (Addr) Network() string { return Network }

// Conn is a stream of bytes in each direction, and a net.Conn.
type Conn struct {
	channel       *braid.Channel
	local, remote Addr

	reading      sync.Mutex // held by the one Read at a time
	readDeadline *deadline
	message      *braid.Msg // that is being read
	rest         []byte     // of it
	eof          bool       // the peer's stream has ended

	writing       sync.Mutex // held by the one Write at a time
	writeDeadline *deadline
	ended         bool // this side's stream has ended

	closing sync.Once
}

// New makes a connection of a channel, which then belongs to it. The peer must do the same.
func New(ch *braid.Channel) *Conn {
	return &Conn{
		channel: ch, local: Addr{ch.LocalAddr()}, remote: Addr{ch.RemoteAddr()},
		readDeadline: newDeadline(), writeDeadline: newDeadline(),
	}
}

// Channel is what the connection works on.
func (c *Conn) Channel() *braid.Channel { return c.channel }

// LocalAddr implements net.Conn.
func (c *Conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr implements net.Conn.
func (c *Conn) RemoteAddr() net.Addr { return c.remote }

// Read reads what has arrived. It returns io.EOF when the peer has ended its stream and all
// of it is read.
func (c *Conn) Read(p []byte) (int, error) {
	c.reading.Lock()
	defer c.reading.Unlock()
	n, err := c.read(p)
	if err == nil || errors.Is(err, io.EOF) {
		return n, err
	}
	return n, c.failure("read", err)
}

func (c *Conn) read(p []byte) (int, error) {
	ctx, err := c.readDeadline.wait()
	if err != nil || len(p) == 0 {
		return 0, err
	}
	if len(c.rest) == 0 {
		if err := c.receive(ctx); err != nil {
			return 0, reason(c.readDeadline, err)
		}
	}
	n := copy(p, c.rest)
	if c.rest = c.rest[n:]; len(c.rest) == 0 {
		c.release()
	}
	return n, nil
}

// receive waits for the next message.
func (c *Conn) receive(ctx context.Context) error {
	if c.eof {
		return io.EOF
	}
	m, err := c.channel.Receive(ctx)
	if err != nil {
		return err
	}
	c.message, c.rest = m, m.Bytes()
	switch {
	case m.IsCall():
		c.release()
		return fmt.Errorf("%w: a call instead of a part of a stream", braid.ErrPeer)
	case len(c.rest) == 0:
		c.release()
		c.eof = true
		return io.EOF
	}
	return nil
}

func (c *Conn) release() {
	if c.message != nil {
		c.message.Release()
	}
	c.message, c.rest = nil, nil
}

// Write sends p. When it returns, p may be used again: all of it is on its way, and long
// parts of it have been read by the peer. Of a Write that returns an error, the first n bytes are
// on their way and the others are not.
func (c *Conn) Write(p []byte) (int, error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	n, err := c.write(p)
	if err != nil {
		return n, c.failure("write", err)
	}
	return n, nil
}

func (c *Conn) write(p []byte) (int, error) {
	ctx, err := c.writeDeadline.wait()
	if err == nil && c.ended {
		err = net.ErrClosed
	}
	if err != nil || len(p) == 0 {
		return 0, err
	}
	part := c.part(len(p))
	sent, err := c.channel.SendAll(ctx, slices.Chunk(p, part))
	if err != nil {
		return min(sent*part, len(p)), reason(c.writeDeadline, err)
	}
	return len(p), nil
}

// part is how much of a Write of n bytes goes into one message.
func (c *Conn) part(n int) int {
	if small := c.channel.SmallMessage(); n <= manySmall*small {
		return small
	}
	return min(longPart, c.channel.MaxMessage())
}

// CloseWrite ends this side's stream: the peer's Read returns io.EOF after all that was
// written. The other direction goes on. Where the peer is behind, CloseWrite waits as Write does.
func (c *Conn) CloseWrite() error {
	c.writing.Lock()
	defer c.writing.Unlock()
	ctx, err := c.writeDeadline.wait()
	if err == nil {
		err = reason(c.writeDeadline, c.end(ctx))
	}
	if err != nil {
		return c.failure("close", err)
	}
	return nil
}

// end sends the mark of the end of the stream, once: a message of no bytes.
func (c *Conn) end(ctx context.Context) error {
	if c.ended {
		return nil
	}
	err := c.channel.Send(ctx, nil)
	c.ended = err == nil
	return err
}

// Close ends both directions. Reads and Writes that wait return net.ErrClosed. What was written is
// delivered, as long as the peer reads it within Config.Linger; Close does not wait for
// that, but closing the context does.
func (c *Conn) Close() error {
	err := net.ErrClosed
	c.closing.Do(func() {
		err = nil
		c.readDeadline.close()
		c.writeDeadline.close()
		marked := make(chan struct{})
		go c.shutdown(marked)
		<-marked // else the program could close the context first, and no message is begun after that
	})
	if err != nil {
		return c.failure("close", err)
	}
	return nil
}

// shutdown ends the stream and closes the channel when the peer has it all, or does not read it for too long. Until then what still
// comes is discarded: a peer that waits for us to read would not read.
func (c *Conn) shutdown(marked chan<- struct{}) {
	var others sync.WaitGroup
	others.Go(c.discard)
	c.writing.Lock() // the last Write returns; later ones see that the connection is closed
	ended := c.ended
	c.writing.Unlock()
	if !ended {
		begun := make(chan struct{})
		others.Go(func() { c.mark(begun) })
		<-begun
	}
	close(marked)
	_ = c.channel.Close() // nobody is left to be told
	others.Wait()
}

// mark sends the mark of the end, without which the peer's Read returns an error instead of io.EOF. It tells when it has begun:
// from then on the mark is one of the messages that Channel.Close waits for.
func (c *Conn) mark(begun chan<- struct{}) {
	_, _ = c.channel.SendAll(context.Background(), func(yield func([]byte) bool) { // it ends with the channel
		yield(nil)
		close(begun)
	})
}

// discard takes what comes until the stream or the channel has ended.
func (c *Conn) discard() {
	c.reading.Lock() // the last Read returns
	c.release()
	c.reading.Unlock()
	for c.receive(context.Background()) == nil {
		c.release()
	}
}

// SetDeadline implements net.Conn.
func (c *Conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// SetReadDeadline implements net.Conn.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.setDeadline(c.readDeadline, t) }

// SetWriteDeadline implements net.Conn.
func (c *Conn) SetWriteDeadline(t time.Time) error { return c.setDeadline(c.writeDeadline, t) }

func (c *Conn) setDeadline(d *deadline, t time.Time) error {
	if err := d.set(t); err != nil {
		return c.failure("set", err)
	}
	return nil
}

// reason is why a wait with a deadline has failed.
func reason(d *deadline, err error) error {
	if errors.Is(err, context.Canceled) {
		if _, why := d.wait(); why != nil {
			return why
		}
		return os.ErrDeadlineExceeded // it was moved meanwhile
	}
	return err
}

// failure is an error in the form in which package net has them.
func (c *Conn) failure(op string, err error) error {
	return &net.OpError{Op: op, Net: Network, Source: c.local, Addr: c.remote, Err: err}
}
