package udp

import (
	"errors"
	"net/netip"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/braid-rdma/braid/transport"
)

// openAll opens the sockets of all source ports of a pool, as their first packets do.
func openAll(pool *txPool) {
	for source := range pool.sockets {
		pool.socket(source)
	}
}

// TestPoolOpensOnUse shows that a source port costs a socket from its first use on.
func TestPoolOpensOnUse(t *testing.T) {
	pool, err := openTxPool(loopback4, 0, 128, txOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.close()
	if len(pool.opened) != 1 {
		t.Errorf("%d sockets before any use, want 1", len(pool.opened))
	}
	first, again, other := pool.socket(77), pool.socket(77), pool.socket(12)
	if first != again || first == other || len(pool.opened) != 3 {
		t.Errorf("%d sockets after the use of two more source ports, want 3", len(pool.opened))
	}
	if first.local.Port() == other.local.Port() {
		t.Errorf("two source ports are both %d", first.local.Port())
	}
}

func TestPoolSkipsPortsInUse(t *testing.T) {
	taken, err := openTx(netip.AddrPortFrom(loopback4, 0), txOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer taken.close()
	pool, err := openTxPool(loopback4, taken.local.Port(), 4, txOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.close()
	openAll(pool)
	if len(pool.opened) != 4 || pool.shared != 0 {
		t.Fatalf("%d sockets, %d shared: %v", len(pool.opened), pool.shared, pool.lastErr)
	}
	for _, socket := range pool.sockets {
		if socket.local.Port() <= taken.local.Port() {
			t.Errorf("port %d was opened beside %d, which is taken", socket.local.Port(), taken.local.Port())
		}
	}
}

// TestPoolWorksWithFewerPaths lets the process run out of files after a few source
// ports. The others share their sockets.
func TestPoolWorksWithFewerPaths(t *testing.T) {
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	pool, err := openTxPool(loopback4, 0, 16, txOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.close()
	tight := before
	tight.Cur = uint64(pool.sockets[0].fd) + 3
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &tight); err != nil {
		t.Fatal(err)
	}
	openAll(pool)
	_, rxErr := openRx(netip.AddrPortFrom(loopback4, 0), rxOptions{batch: 1})
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	if n := len(pool.opened); n < 1 || n >= 16 || pool.shared != uint64(16-n) {
		t.Errorf("%d sockets, %d source ports share one", n, pool.shared)
	}
	if !errors.Is(pool.lastErr, ErrTooManyFiles) {
		t.Errorf("the reason: %v", pool.lastErr)
	}
	for source, socket := range pool.sockets {
		if socket == nil {
			t.Errorf("source port %d has no socket", source)
		}
	}
	if !errors.Is(rxErr, ErrTooManyFiles) {
		t.Errorf("openRx without files: %v", rxErr)
	}
}

// TestPoolLeavesFiles gives a pool the files of a process with few of them: it takes
// a quarter.
func TestPoolLeavesFiles(t *testing.T) {
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	tight := before
	tight.Cur = min(before.Cur, 256)
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &tight); err != nil {
		t.Fatal(err)
	}
	pool, err := openTxPool(loopback4, 0, 512, txOptions{})
	if err == nil {
		defer pool.close()
		openAll(pool)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(pool.opened), int(tight.Cur/4); got != want || pool.shared != uint64(512-want) || !errors.Is(pool.lastErr, errFileShare) {
		t.Errorf("%d sockets, want %d; %d shared: %v", got, want, pool.shared, pool.lastErr)
	}
}

func TestPoolNeedsOnePath(t *testing.T) {
	if _, err := openTxPool(netip.MustParseAddr("198.51.100.7"), 0, 2, txOptions{}); !errors.Is(err, ErrNoAddress) {
		t.Errorf("a pool on a foreign address: %v", err)
	}
	for _, sources := range []int{0, -1, maxSources + 1} {
		if _, err := openTxPool(loopback4, 0, sources, txOptions{}); err == nil {
			t.Errorf("a pool of %d source ports was opened", sources)
		}
	}
}

func TestDestinationConversion(t *testing.T) {
	for _, text := range []string{"127.0.0.1:4791", "255.1.2.3:65535", "[::1]:4791", "[2001:db8::5]:1", "[fe80::1%1]:4791"} {
		addr := netip.MustParseAddrPort(text)
		dst, err := newDestination(addr)
		if err != nil {
			t.Fatal(err)
		}
		if got := decodeSockaddr(&dst.raw); got != addr {
			t.Errorf("%v came back as %v", addr, got)
		}
	}
	mapped, err := newDestination(netip.MustParseAddrPort("[::ffff:10.0.0.1]:4791"))
	if err != nil || mapped.size != unix.SizeofSockaddrInet4 {
		t.Errorf("an IPv4-mapped address: %+v, %v", mapped, err)
	}
	if _, err := newDestination(netip.AddrPort{}); err == nil {
		t.Error("the zero address was accepted")
	}
}

func TestWakeEndsWait(t *testing.T) {
	p := newPair(t, pairOptions{})
	start := time.Now()
	if events, err := p.poll.wait(5 * time.Millisecond); err != nil || len(events.readable) > 0 || events.woken || events.writable {
		t.Errorf("an idle wait: %+v, %v", events, err)
	}
	if time.Since(start) < 5*time.Millisecond {
		t.Error("the wait ended before its time")
	}
	for range 3 { // a wake must work again after each drain
		var waking sync.WaitGroup
		waking.Go(func() {
			time.Sleep(time.Millisecond)
			p.poll.waker.wake()
			p.poll.waker.wake()
		})
		if events, err := p.poll.wait(5 * time.Second); err != nil || !events.woken || len(events.readable) > 0 {
			t.Fatalf("after a wake: %+v, %v", events, err)
		}
		waking.Wait() // the second wake may have come after the wait: take note of it too
		p.poll.wait(0)
	}
	p.post(0, content(0, 10))
	p.batch.flush()
	if events, err := p.poll.wait(-1); err != nil || len(events.readable) == 0 || events.woken {
		t.Errorf("after a packet: %+v, %v", events, err)
	}
}

func TestFitPathMTU(t *testing.T) {
	tests := []struct {
		link int
		ipv6 bool
		want int // 0: too small
	}{
		{65536, false, transport.MaxMPMTU},
		{9000, false, 8920},
		{9000, true, 8900},
		{4176, false, 4096},
		{4175, false, 4092},
		{1500, false, 1420},
		{1500, true, 1400},
		{336, false, 256},
		{335, false, 0},
		{0, true, 0},
	}
	for _, test := range tests {
		got, err := fitPathMTU(test.link, test.ipv6)
		if got != test.want || (test.want == 0) != errors.Is(err, ErrMTUTooSmall) {
			t.Errorf("fitPathMTU(%d, ipv6=%t) = %d, %v; want %d", test.link, test.ipv6, got, err, test.want)
		}
	}
}

func TestDefaultPayload(t *testing.T) {
	for most, want := range map[int]int{transport.MaxMPMTU: transport.MaxMPMTU, 8920: 8192, 8192: 8192, 1420: 1420} {
		if got := defaultPayload(most); got != want {
			t.Errorf("where %d bytes fit, packets carry %d, want %d", most, got, want)
		}
	}
}

func TestPathMTUOfAddress(t *testing.T) {
	for _, text := range []string{"127.0.0.1", "127.9.8.7", "::1"} {
		if mtu, err := pathMTU(netip.MustParseAddr(text)); err != nil || mtu < 256 {
			t.Errorf("pathMTU(%s) = %d, %v", text, mtu, err)
		}
	}
	if _, err := pathMTU(netip.MustParseAddr("198.51.100.7")); !errors.Is(err, ErrNoAddress) {
		t.Errorf("the MTU of a foreign address: %v", err)
	}
}

func TestLoopbackAddressesDiffer(t *testing.T) {
	seen := map[netip.Addr]bool{}
	for range 8 {
		socket, err := openLoopback(rocePort, rxOptions{batch: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer socket.close()
		ip := socket.local.Addr()
		if !ip.IsLoopback() || seen[ip] || socket.local.Port() != rocePort {
			t.Errorf("address %v", socket.local)
		}
		seen[ip] = true
	}
	if next := nextLoopback(1<<24 - 2); next != 2 {
		t.Errorf("after the last address comes %d", next)
	}
}

// TestLoopbackTaken occupies a port on all addresses.
func TestLoopbackTaken(t *testing.T) {
	everywhere, err := openRx(netip.MustParseAddrPort("0.0.0.0:0"), rxOptions{batch: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer everywhere.close()
	if _, err := openLoopback(everywhere.local.Port(), rxOptions{}); !errors.Is(err, ErrPortInUse) {
		t.Errorf("openLoopback: %v", err)
	}
}

// TestWaitReportsErrors waits with more descriptors than the process may have, which
// ppoll refuses.
func TestWaitReportsErrors(t *testing.T) {
	p := newPair(t, pairOptions{})
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	tight := before
	tight.Cur = 1
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &tight); err != nil {
		t.Fatal(err)
	}
	_, waitErr := p.poll.wait(0)
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(waitErr, unix.EINVAL) {
		t.Errorf("wait: %v, want EINVAL", waitErr)
	}
}
