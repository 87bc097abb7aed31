package tunnel

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/braid-rdma/braid/internal/sched"
)

// Handler takes what comes out of a tunnel, in the goroutine that reads. The bytes are valid during the
// call only.
type Handler interface {
	Packets(packets [][]byte)
	Control(frame []byte)
	// Writable: Room has said no, and there is room again.
	Writable()
	// Ended is called once, when nothing more comes. The reason is io.EOF if the peer has
	// closed the stream, and net.ErrClosed if this side has.
	Ended(reason error)
}

// ErrFrame ends a tunnel whose peer has sent a frame of an impossible length.
var ErrFrame = errors.New("tunnel: a frame of an impossible length")

var errControl = errors.New("tunnel: the peer does not read")

// Tunnel carries packets through a stream.
type Tunnel struct {
	conn    net.Conn
	handler Handler
	done    sched.Group
	changed chan struct{} // wakes the writer

	mu      sync.Mutex
	queue   []byte
	spare   []byte // the queue before, which the writer has written
	control int    // bytes of control frames in the queue
	waiting bool   // Room has said no
	closing bool
	failed  error // why the stream can no longer be used
}

// Start begins to use a connection, which is the tunnel's from then on. What is sent is given
// up after patience without an acknowledgement of the peer's system, so that no packet
// outlives its time in the kernel's queue. The goroutines that read and write are the runtime's.
func Start(r sched.Runtime, conn net.Conn, patience time.Duration, h Handler) *Tunnel {
	t := &Tunnel{conn: conn, handler: h, changed: make(chan struct{}, 1)}
	t.done.Runtime = r
	if simulated, ok := conn.(interface{ SetUserTimeout(time.Duration) }); ok {
		simulated.SetUserTimeout(patience)
	} else {
		tune(conn, patience)
	}
	t.done.Go(t.write)
	t.done.Go(t.read)
	return t
}

// Room says whether the queue takes a packet.
func (t *Tunnel) Room() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	// A tunnel that has ended takes packets and loses them: its owner will know soon.
	t.waiting = len(t.queue) >= maxQueue && t.failed == nil && !t.closing
	return !t.waiting
}

// Carry queues a packet. Where there is no room it is lost, as packets may be.
func (t *Tunnel) Carry(packet []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(packet) <= MaxControl || len(packet) > MaxPacket || len(t.queue) >= 2*maxQueue {
		return
	}
	t.append(packet)
}

// Control queues a control frame of 1 to MaxControl bytes.
func (t *Tunnel) Control(frame ...byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.control += len(frame) + 2; t.control > maxControlQueue {
		t.fail(errControl)
		return
	}
	t.append(frame)
}

func (t *Tunnel) wakeWriter() {
	select {
	case t.changed <- struct{}{}:
	default:
	}
}

// append puts a frame into the queue; the lock is held.
func (t *Tunnel) append(frame []byte) {
	if t.failed != nil || t.closing {
		return
	}
	t.queue = binary.BigEndian.AppendUint16(t.queue, uint16(len(frame)))
	t.queue = append(t.queue, frame...)
	t.wakeWriter()
}

// Close ends the tunnel when what is queued has been written, or some time later. It does not
// wait; Wait does.
func (t *Tunnel) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closing {
		return
	}
	t.closing = true
	_ = t.conn.SetWriteDeadline(t.done.Clock().Add(closeTime)) // one that is closed needs none
	t.wakeWriter()
}

// Wait returns when the tunnel has ended and Ended was called.
func (t *Tunnel) Wait() { t.done.Wait() }

// fail ends the tunnel at once; the lock is held.
func (t *Tunnel) fail(reason error) {
	if t.failed == nil {
		t.failed = reason
		_ = t.conn.Close()
		t.wakeWriter()
	}
}

// finish tells the peer that nothing more comes; the lock is held. The reader goes on until the
// peer has closed too: a system that has unread bytes when a socket is closed makes
// the peer lose what it has not read yet.
func (t *Tunnel) finish() {
	half, ok := t.conn.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil || t.conn.SetReadDeadline(t.done.Clock().Add(closeTime)) != nil {
		t.fail(net.ErrClosed)
	}
}

// write is the goroutine that writes what is queued.
func (t *Tunnel) write() {
	for {
		b, writable := t.next()
		if b == nil {
			return
		}
		if writable {
			t.handler.Writable()
		}
		if _, err := t.conn.Write(b); err != nil {
			t.mu.Lock()
			t.fail(err)
			t.mu.Unlock()
			return
		}
	}
}

// next waits for something to write, and takes all of it. It returns nil when the tunnel has
// ended.
func (t *Tunnel) next() (b []byte, writable bool) {
	for {
		if b, writable, ok := t.take(); ok {
			return b, writable
		}
		t.done.Select(context.Background(), t.changed)
	}
}

// take takes what is queued; not ok: there is nothing yet.
func (t *Tunnel) take() (b []byte, writable, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.failed != nil:
		return nil, false, true
	case len(t.queue) > 0:
		b = t.queue
		t.queue, t.spare, t.control = t.spare[:0], b, 0
		writable, t.waiting = t.waiting, false
		return b, writable, true
	case t.closing:
		t.finish()
		return nil, false, true
	}
	return nil, false, false
}

// read is the goroutine that reads.
func (t *Tunnel) read() {
	err := t.readFrames()
	t.mu.Lock()
	switch {
	case t.closing:
		err = net.ErrClosed
	case t.failed != nil:
		err = t.failed // the writer knows better
	}
	t.fail(err)
	t.mu.Unlock()
	t.handler.Ended(err)
}

func (t *Tunnel) readFrames() error {
	buf := make([]byte, readBuffer)
	var packets [][]byte
	have := 0
	for {
		n, err := t.conn.Read(buf[have:])
		have += n
		used, wrong := t.handle(buf[:have], &packets)
		if wrong != nil {
			return wrong
		}
		have = copy(buf, buf[used:have])
		if err != nil {
			if errors.Is(err, io.EOF) && have > 0 {
				return io.ErrUnexpectedEOF
			}
			return err
		}
	}
}

// handle hands out the frames of b that are complete, and returns how many bytes they are.
// Packets are handed out before the control frame that follows them.
func (t *Tunnel) handle(b []byte, packets *[][]byte) (used int, err error) {
	batch := (*packets)[:0]
	flush := func() {
		if len(batch) > 0 {
			t.handler.Packets(batch)
			clear(batch)
			batch = batch[:0]
		}
	}
	for len(b)-used >= 2 {
		length := int(binary.BigEndian.Uint16(b[used:]))
		if length == 0 || length > MaxPacket {
			err = fmt.Errorf("%w: %d bytes", ErrFrame, length)
			break
		}
		if len(b)-used < 2+length {
			break
		}
		frame := b[used+2 : used+2+length]
		if used += 2 + length; length <= MaxControl {
			flush()
			t.handler.Control(frame)
		} else {
			batch = append(batch, frame)
		}
	}
	flush()
	*packets = batch
	return used, err
}
