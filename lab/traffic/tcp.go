package traffic

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"
)

const (
	// dialTime bounds the making of a connection in a network that may be broken.
	dialTime = 5 * time.Second
	// lastTime is how long a receiver that is to stop waits for what is on the way.
	lastTime = 2 * time.Second
)

// tcpSender writes messages to a connection of the kernel's.
type tcpSender struct {
	spec Spec
	conn net.Conn
}

func (s *tcpSender) hello() greeting { return greeting{} }

func (s *tcpSender) connect(ctx context.Context, peer greeting) error {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: s.spec.Local.AsSlice()}, Timeout: dialTime}
	dialer.SetMultipathTCP(s.spec.Kind == MPTCP)
	if s.spec.Control != "" {
		dialer.Control = s.setControl
	}
	conn, err := dialer.DialContext(ctx, "tcp4", peer.Address)
	if err != nil {
		return err
	}
	s.conn = conn
	return checkMultipath(conn, s.spec.Kind)
}

// setControl chooses the congestion control of a socket that is to connect.
func (s *tcpSender) setControl(_, _ string, socket syscall.RawConn) error {
	var refused error
	err := socket.Control(func(fd uintptr) { refused = setCongestionControl(int(fd), s.spec.Control) })
	if refused != nil {
		return fmt.Errorf("%w: congestion control %q: %w", ErrSpec, s.spec.Control, refused)
	}
	return err
}

// checkMultipath refuses a connection that silently fell back to plain TCP: its
// figures would stand under the wrong name.
func checkMultipath(conn net.Conn, kind Kind) error {
	multipath, err := conn.(*net.TCPConn).MultipathTCP()
	if err == nil && multipath != (kind == MPTCP) {
		err = fmt.Errorf("%w: the connection is not the %s that was asked for", ErrAgent, kind)
	}
	return err
}

func (s *tcpSender) close() {
	if s.conn != nil {
		_ = s.conn.Close()
	}
}

func (s *tcpSender) counters() map[string]uint64 { return nil }

// send writes messages until stop is closed, and then ends the stream.
func (s *tcpSender) send(ctx context.Context, stop <-chan struct{}) (written uint64, err error) {
	slots := make([][]byte, s.spec.Depth)
	for i := range slots {
		slots[i] = make([]byte, s.spec.Size)
		fillPattern(slots[i], i)
	}
	defer context.AfterFunc(ctx, func() { _ = s.conn.SetDeadline(time.Now()) })()
	for ; !closed(stop); written++ {
		slot := slots[written%uint64(len(slots))]
		stamp(slot, written)
		if _, err := s.conn.Write(slot); err != nil {
			return written, err
		}
	}
	return written, s.conn.(*net.TCPConn).CloseWrite()
}

// tcpReceiver reads messages from a connection of the kernel's.
type tcpReceiver struct {
	spec     Spec
	listener net.Listener
	conn     net.Conn
}

func newTCPReceiver(spec Spec) (*tcpReceiver, error) {
	var config net.ListenConfig
	config.SetMultipathTCP(spec.Kind == MPTCP)
	listener, err := config.Listen(context.Background(), "tcp4", net.JoinHostPort(spec.Local.String(), "0"))
	if err != nil {
		return nil, err
	}
	return &tcpReceiver{spec: spec, listener: listener}, nil
}

func (r *tcpReceiver) hello() greeting { return greeting{Address: r.listener.Addr().String()} }

// connect accepts the sender, which has connected by now.
func (r *tcpReceiver) connect(context.Context, greeting) error {
	conn, err := r.listener.Accept()
	if err != nil {
		return err
	}
	r.conn = conn
	return checkMultipath(conn, r.spec.Kind)
}

func (r *tcpReceiver) close() {
	_ = r.listener.Close()
	if r.conn != nil {
		_ = r.conn.Close()
	}
}

func (r *tcpReceiver) counters() map[string]uint64 { return nil }

// receive reads until the sender ends the stream. When ctx ends, what is on the
// way has a little time left.
func (r *tcpReceiver) receive(ctx context.Context, c *checker, m *meter) error {
	defer context.AfterFunc(ctx, func() { _ = r.conn.SetDeadline(time.Now().Add(lastTime)) })()
	message := make([]byte, r.spec.Size)
	for {
		n, err := io.ReadFull(r.conn, message)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%w after %d bytes of a message", err, n)
		}
		c.arrived(message)
		m.arrived(Now(), n)
	}
}
