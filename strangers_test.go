package braid

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/braid-rdma/braid/internal/mock"
)

// connectAsPeer opens a TCP connection to the context of a channel, from the address of the channel's
// peer, and sends some bytes.
func connectAsPeer(t *testing.T, ch *Channel, b []byte) *net.TCPConn {
	t.Helper()
	local, err := ch.context.device.RouteTo(ch.RemoteAddr().Addr())
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.DialTCP("tcp",
		net.TCPAddrFromAddrPort(netip.AddrPortFrom(ch.RemoteAddr().Addr(), 0)),
		net.TCPAddrFromAddrPort(netip.AddrPortFrom(local.Local, ch.context.streams.port())))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if _, err := conn.Write(b); err != nil {
		t.Fatal(err)
	}
	return conn
}

// greeting is what an opener sends that knows a token.
func greeting(known token) []byte { return append(greetingMagic[:4:4], known[:]...) }

// wantClosed waits until the other side has closed a connection, and said nothing.
func wantClosed(t *testing.T, conn net.Conn) {
	t.Helper()
	_ = conn.SetReadDeadline(time.Now().Add(30 * time.Second))
	var b [1]byte
	if n, err := conn.Read(b[:]); n > 0 || err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the connection is open: %d bytes, %v", n, err)
	}
}

// Strangers on the TCP port learn nothing, keep nothing, and disturb nobody.
func TestTCPStrangers(t *testing.T) {
	a, b := pair(t, Config{})
	wrong := b.fallback.own
	wrong[3]++
	for name, bytes := range map[string][]byte{
		"wrong token":       greeting(wrong),
		"the other's token": greeting(a.fallback.own),
		"wrong version":     append([]byte{'b', 'r', 'd', 9}, b.fallback.own[:]...),
		"garbage":           []byte("GET / HTTP/1.1\r\nHost: example.org\r\n\r\n"),
		"half of it":        greeting(b.fallback.own)[:10],
		"nothing":           nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // some last as long as a stranger may
			before := b.context.Stats().Strangers
			wantClosed(t, connectAsPeer(t, b, bytes))
			if n := b.context.Stats().Strangers; n == before {
				t.Error("it was not counted")
			}
		})
	}
	t.Run("from another address", func(t *testing.T) {
		conn, err := net.Dial("tcp", netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), b.context.streams.port()).String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := conn.Write(greeting(b.fallback.own)); err != nil {
			t.Fatal(err)
		}
		wantClosed(t, conn)
	})
	exchange(t, a, b, 10_000)
	setCarrier(t, a, CarrierTCP)
	exchange(t, a, b, 10_000)
}

// A crowd of strangers is turned away at once, but for a few, and leaves room for others.
func TestTCPCrowd(t *testing.T) {
	a, b := pair(t, Config{})
	crowd := make([]net.Conn, 3*maxStrangersAt)
	for i := range crowd {
		conn, err := net.Dial("tcp", netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), b.context.streams.port()).String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		crowd[i] = conn
	}
	s := b.context.streams
	s.mu.Lock()
	if n := len(s.strangers); n > maxStrangersAt {
		t.Errorf("%d strangers of one address are kept", n)
	}
	s.mu.Unlock()
	setCarrier(t, a, CarrierTCP)
	exchange(t, a, b, 10_000)
	for _, conn := range crowd {
		wantClosed(t, conn)
	}
}

// forger opens a TCP connection as the peer of a channel, with its token.
func forger(t *testing.T, ch *Channel) *net.TCPConn {
	t.Helper()
	conn := connectAsPeer(t, ch, greeting(ch.fallback.own))
	reply := make([]byte, 1+len(token{}))
	if _, err := io.ReadFull(conn, reply); err != nil || reply[0] != accepted || token(reply[1:]) != ch.fallback.peer {
		t.Fatalf("the greeting gets %x, %v", reply, err)
	}
	return conn
}

func frame(b []byte) []byte {
	return append(binary.BigEndian.AppendUint16(nil, uint16(len(b))), b...)
}

// A peer that lies through its TCP connection reaches no other channel, and loses its connection, or its
// own channel.
func TestTCPLiars(t *testing.T) {
	server, client := open(t, Config{}), open(t, Config{})
	l := listen(t, server)
	connect := func() (theirs, ours *Channel) {
		theirs, err := client.Dial(soon(t), l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if ours, err = l.Accept(soon(t)); err != nil {
			t.Fatal(err)
		}
		return theirs, ours
	}
	honest, served := connect()
	_, victim := connect()

	t.Run("packets for another channel", func(t *testing.T) {
		conn := forger(t, victim)
		before := udpStats(t, server).WrongSource
		qpn := served.qp.Number()
		packet := make([]byte, 64)
		packet[0], packet[2], packet[3] = 0x04, 0xff, 0xff // a SEND of the default partition
		packet[5], packet[6], packet[7] = byte(qpn>>16), byte(qpn>>8), byte(qpn)
		if _, err := conn.Write(bytes.Repeat(frame(packet), 100)); err != nil {
			t.Fatal(err)
		}
		conn.CloseWrite()
		_, _ = io.Copy(io.Discard, conn) // until all of it was read
		if n := udpStats(t, server).WrongSource - before; n != 100 {
			t.Errorf("%d packets of 100 were refused", n)
		}
	})
	t.Run("frames of no length", func(t *testing.T) {
		conn := forger(t, victim)
		if _, err := conn.Write([]byte{0, 0, 0, 0}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error(err)
		}
	})
	t.Run("damaged packets and control frames without end", func(t *testing.T) {
		conn := forger(t, victim)
		_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
		go func() {
			damaged := frame(make([]byte, 200))
			for _, b := range [][]byte{{1, 0}, {2, 1}, {3, 1, 2, 3}, {99}, {1, 1}, {2, 0}} {
				damaged = append(damaged, frame(b)...)
			}
			_, _ = conn.Write(bytes.Repeat(damaged, 2000))
			conn.CloseWrite()
		}()
		_, _ = io.Copy(io.Discard, conn)
	})
	t.Run("a farewell", func(t *testing.T) {
		conn := forger(t, victim)
		if _, err := conn.Write(frame([]byte{mock.Bye})); err != nil {
			t.Fatal(err)
		}
		<-victim.Done()
		if err := victim.Err(); !errors.Is(err, ErrPeerClosed) {
			t.Errorf("its own channel: %v", err)
		}
		<-victim.gone
		wantClosed(t, connectAsPeer(t, served, greeting(victim.fallback.own))) // the token has ended with it
	})
	exchange(t, honest, served, 100_000)
	if err := served.Err(); err != nil {
		t.Errorf("the honest peer's channel: %v", err)
	}
}

// A context that is closed has no TCP left, whoever is connected to it.
func TestCloseWithStrangers(t *testing.T) {
	a, b := pair(t, Config{Linger: -1})
	setCarrier(t, a, CarrierTCP)
	quiet := connectAsPeer(t, b, nil)
	half := connectAsPeer(t, b, greeting(b.fallback.own)[:5])
	begin := time.Now()
	b.context.Close()
	if d := time.Since(begin); d > 20*time.Second {
		t.Errorf("Close took %v", d)
	}
	wantClosed(t, quiet)
	wantClosed(t, half)
	if c, err := net.DialTCP("tcp", nil, b.context.streams.listener.Addr().(*net.TCPAddr)); err == nil {
		c.Close()
		t.Error("somebody still listens")
	}
}

// A peer that opens connection after connection has a few of them at a time.
func TestTCPConnectionsWithoutEnd(t *testing.T) {
	a, b := pair(t, Config{})
	const many = 200
	f := b.fallback
	for range many {
		conn := connectAsPeer(t, b, greeting(f.own))
		_, _ = io.ReadFull(conn, make([]byte, 1+len(token{}))) // one that is refused is closed
	}
	all := make([]byte, 16<<20)
	all = all[:runtime.Stack(all, true)]
	if n := bytes.Count(all, []byte("tunnel.(*Tunnel).read(")); n > 2*maxTaken {
		t.Errorf("%d connections are kept", n)
	}
	eventually(t, "there is room again", func() bool { return a.SetCarrier(soon(t), CarrierTCP) == nil })
	exchange(t, a, b, 10_000)
}
