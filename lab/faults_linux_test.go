package lab

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

var errEnded = errors.New("ended")

// endsAfter is a context that ends when it has been asked a number of times.
type endsAfter struct {
	context.Context
	steps int
}

func (c *endsAfter) Err() error {
	if c.steps--; c.steps < 0 {
		return errEnded
	}
	return nil
}

// datagrams opens a socket in a host, at one of its addresses.
func datagrams(t *testing.T, n *Network, host string, addr netip.Addr) *net.UDPConn {
	t.Helper()
	var conn *net.UDPConn
	err := inside(n.Namespace(host), func() (err error) {
		conn, err = net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(addr, 0)))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// arrive sends datagrams over one path and counts those that arrive.
func arrive(t *testing.T, n *Network, from, to string, path, count, size int) int {
	t.Helper()
	a, _ := n.Node(from)
	b, _ := n.Node(to)
	sender, receiver := datagrams(t, n, from, a.Pinned[path]), datagrams(t, n, to, b.Addr)
	setOption(t, sender, unix.IPPROTO_IP, unix.IP_TOS, 2) // ECN-capable
	// Otherwise the sender waits until the queue of the path is short.
	setOption(t, sender, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, 8<<20)
	setOption(t, receiver, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 8<<20)
	message := make([]byte, size)
	for range count {
		if _, err := sender.WriteToUDPAddrPort(message, receiver.LocalAddr().(*net.UDPAddr).AddrPort()); err != nil {
			t.Fatal(err)
		}
	}
	for arrived := range count {
		_ = receiver.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
		if _, err := receiver.Read(message); err != nil {
			return arrived
		}
	}
	return count
}

func setOption(t *testing.T, conn *net.UDPConn, level, name, value int) {
	t.Helper()
	raw, err := conn.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if failed := raw.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), level, name, value) }); failed != nil || err != nil {
		t.Fatal(failed, err)
	}
}

func TestPathsCarryWhatIsPinned(t *testing.T) {
	n := up(t, Options{HostsPerLeaf: 1})
	for path := range n.Options.Spines {
		if arrived := arrive(t, n, "h0", "h1", path, 10, 1000); arrived != 10 {
			t.Errorf("path %d: %d of 10 arrived", path, arrived)
		}
	}
	s, err := n.Status()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range s.Paths {
		if p.Forward.Packets != 10 || p.Forward.Bytes != 10*1042 || p.Backward.Packets != 0 || p.Rate != 1e9 {
			t.Errorf("%+v", p)
		}
	}
}

func TestCutIsForOneDirectionIfAsked(t *testing.T) {
	n := up(t, Options{HostsPerLeaf: 1, Spines: 2})
	tests := []struct {
		cut               Direction
		forward, backward int
	}{{Forward, 0, 5}, {Backward, 5, 0}, {Both, 0, 0}}
	for _, test := range tests {
		if err := n.Cut(1, test.cut); err != nil {
			t.Fatal(err)
		}
		forward := arrive(t, n, "h0", "h1", 1, 5, 100)
		backward := arrive(t, n, "h1", "h0", 1, 5, 100)
		other := arrive(t, n, "h0", "h1", 0, 5, 100)
		if forward != test.forward || backward != test.backward || other != 5 {
			t.Errorf("%s: %d forward, %d backward, %d over the other path", test.cut, forward, backward, other)
		}
		if err := n.Restore(1); err != nil {
			t.Fatal(err)
		}
	}
	if arrived := arrive(t, n, "h0", "h1", 1, 5, 100); arrived != 5 {
		t.Errorf("restored: %d of 5 arrived", arrived)
	}
}

func TestLossIsAsAsked(t *testing.T) {
	n := up(t, Options{HostsPerLeaf: 1, Spines: 1, Delay: 100 * time.Millisecond})
	if err := n.SetLoss(0, 0.3, Forward); err != nil {
		t.Fatal(err)
	}
	// 600 of 2000, and five standard deviations.
	arrived := arrive(t, n, "h0", "h1", 0, 2000, 100)
	if lost := 2000 - arrived; lost < 500 || lost > 700 {
		t.Errorf("%d of 2000 were lost, want about 600", lost)
	}
	s, err := n.Status()
	if err != nil {
		t.Fatal(err)
	}
	if f := s.Paths[0].Forward; f.Lost < 500 || f.Loss < 0.299 || f.Loss > 0.301 {
		t.Errorf("%+v", f)
	}
}

func TestFaultsRefuseNonsense(t *testing.T) {
	n := up(t, Options{HostsPerLeaf: 1, Spines: 1})
	tests := map[string]error{
		"path":      n.Cut(1, Both),
		"below":     n.Cut(-1, Both),
		"loss":      n.SetLoss(0, 2, Both),
		"rate":      n.SetRate(0, 5),
		"threshold": n.SetThreshold(0, time.Hour),
		"flap":      n.Flap(t.Context(), 0, time.Microsecond),
	}
	for name, err := range tests {
		if !errors.Is(err, ErrNode) && !errors.Is(err, ErrOptions) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFlapEndsWithThePathRestored(t *testing.T) {
	n := up(t, Options{HostsPerLeaf: 1, Spines: 1})
	ctx, cancel := context.WithTimeout(t.Context(), 35*time.Millisecond)
	defer cancel()
	if err := n.Flap(ctx, 0, 20*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if arrived := arrive(t, n, "h0", "h1", 0, 5, 100); arrived != 5 {
		t.Errorf("%d of 5 arrived", arrived)
	}
}
