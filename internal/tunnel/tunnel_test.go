package tunnel

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/braid-rdma/braid/internal/sched"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorder keeps what comes out of a tunnel.
type recorder struct {
	mu       sync.Mutex
	packets  [][]byte
	controls [][]byte
	ended    chan error
	writable chan struct{}
}

func newRecorder() *recorder {
	return &recorder{ended: make(chan error, 1), writable: make(chan struct{}, 1)}
}

func (r *recorder) Packets(packets [][]byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range packets {
		r.packets = append(r.packets, bytes.Clone(p))
	}
}

func (r *recorder) Control(frame []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.controls = append(r.controls, bytes.Clone(frame))
}

func (r *recorder) Writable() {
	select {
	case r.writable <- struct{}{}:
	default:
	}
}

func (r *recorder) Ended(reason error) { r.ended <- reason }

// streams returns the two ends of a TCP connection.
func streams(t *testing.T) (a, b net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	a, err = net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if b, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close(); b.Close() })
	return a, b
}

func packet(number, length int) []byte {
	b := bytes.Repeat([]byte{byte(number)}, length)
	binary.BigEndian.PutUint32(b, uint32(number))
	return b
}

// What is sent comes out as it was sent, all of it also when the sender closes at once.
func TestTunnel(t *testing.T) {
	x, y := streams(t)
	r, s := newRecorder(), newRecorder()
	a, b := Start(sched.Runtime{}, x, time.Second, r), Start(sched.Runtime{}, y, time.Second, s)
	const count = 500
	for i := range count {
		for !a.Room() {
			<-r.writable
		}
		a.Carry(packet(i, MaxControl+1+i*37%(MaxPacket-MaxControl)))
		if i%10 == 0 {
			a.Control(byte(i))
		}
	}
	a.Close()
	a.Carry(packet(count, 100)) // too late
	if err := <-s.ended; !errors.Is(err, io.EOF) {
		t.Errorf("the receiver's end: %v", err)
	}
	if err := <-r.ended; !errors.Is(err, net.ErrClosed) {
		t.Errorf("the sender's end: %v", err)
	}
	if len(s.packets) != count || len(s.controls) != count/10 {
		t.Fatalf("%d packets and %d control frames arrive", len(s.packets), len(s.controls))
	}
	for i, p := range s.packets {
		if want := packet(i, MaxControl+1+i*37%(MaxPacket-MaxControl)); !bytes.Equal(p, want) {
			t.Fatalf("packet %d of %d bytes arrives as %d others", i, len(want), len(p))
		}
	}
	a.Wait()
	b.Wait()
}

// A peer that does not read fills the queue, which is bounded, and nobody blocks.
func TestFullQueue(t *testing.T) {
	x, y := net.Pipe() // it holds nothing, so the writer writes what is read and no more
	r := newRecorder()
	a := Start(sched.Runtime{}, x, time.Minute, r)
	a.Carry(packet(1, MaxPacket))
	if _, err := io.ReadFull(y, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	// From here on the writer has a packet that nobody reads.
	for range 1000 {
		if !a.Room() {
			break
		}
		a.Carry(packet(1, MaxPacket))
	}
	if a.Room() {
		t.Fatal("there is always room")
	}
	for range 1000 { // who does not ask loses packets
		a.Carry(packet(1, MaxPacket))
	}
	a.mu.Lock()
	queued := len(a.queue)
	a.mu.Unlock()
	if queued > 2*maxQueue+MaxPacket+2 {
		t.Errorf("%d bytes are queued", queued)
	}
	var read sync.WaitGroup
	read.Go(func() { _, _ = io.Copy(io.Discard, y) })
	<-r.writable
	a.Close()
	<-r.ended
	a.Wait()
	read.Wait()
}

// A peer that never reads control frames loses the tunnel.
func TestControlsThatNobodyReads(t *testing.T) {
	x, _ := streams(t)
	r := newRecorder()
	a := Start(sched.Runtime{}, x, time.Minute, r)
	for range 1_000_000 {
		a.Control(1, 2, 3)
		a.mu.Lock()
		failed := a.failed
		a.mu.Unlock()
		if failed != nil {
			break
		}
	}
	if err := <-r.ended; !errors.Is(err, errControl) {
		t.Errorf("the end: %v", err)
	}
	a.Wait()
}

// Frames of impossible lengths, and an end within a frame, end the tunnel.
func TestMalformed(t *testing.T) {
	for name, test := range map[string]struct {
		bytes []byte
		want  error
	}{
		"empty":    {[]byte{0, 0}, ErrFrame},
		"too long": {binary.BigEndian.AppendUint16(nil, MaxPacket+1), ErrFrame},
		"garbage":  {[]byte("GET / HTTP/1.1\r\n\r\n"), ErrFrame},
		"cut off":  {[]byte{0, 20, 1, 2}, io.ErrUnexpectedEOF},
	} {
		t.Run(name, func(t *testing.T) {
			x, y := streams(t)
			r := newRecorder()
			a := Start(sched.Runtime{}, x, time.Second, r)
			if _, err := y.Write(test.bytes); err != nil {
				t.Fatal(err)
			}
			y.Close()
			if err := <-r.ended; !errors.Is(err, test.want) {
				t.Errorf("the end: %v, want %v", err, test.want)
			}
			if len(r.packets) > 0 || len(r.controls) > 0 {
				t.Errorf("%d packets, %d control frames", len(r.packets), len(r.controls))
			}
			a.Wait()
		})
	}
}

// FuzzFrames cuts bytes in two and expects the frames that they have as a whole.
func FuzzFrames(f *testing.F) {
	f.Add([]byte{0, 1, 7, 0, 16, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, 5)
	f.Add([]byte{255, 255}, 1)
	f.Fuzz(func(t *testing.T, b []byte, cut int) {
		whole, parts := newRecorder(), newRecorder()
		var packets [][]byte
		_, wrong := (&Tunnel{handler: whole}).handle(b, &packets)
		cut = min(max(0, cut), len(b))
		p := &Tunnel{handler: parts}
		used, err := p.handle(b[:cut], &packets)
		if err == nil {
			_, err = p.handle(b[used:], &packets)
		}
		if (wrong == nil) != (err == nil) {
			t.Fatalf("%v as a whole, %v in parts", wrong, err)
		}
		if !equal(whole.packets, parts.packets) || !equal(whole.controls, parts.controls) {
			t.Fatal("the parts differ from the whole")
		}
	})
}

func equal(a, b [][]byte) bool {
	return bytes.Equal(bytes.Join(a, []byte{0}), bytes.Join(b, []byte{0})) && len(a) == len(b)
}
