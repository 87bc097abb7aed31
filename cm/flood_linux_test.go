package cm

import (
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/braid-rdma/braid/cm/mad"
	"github.com/braid-rdma/braid/verbs"
	"github.com/braid-rdma/braid/wire"
)

// spoofer sends requests to a listener from addresses that are not its own: any
// of 127.200.0.0/16, where nobody receives the answers.
type spoofer struct {
	t    testing.TB
	conn *net.UDPConn
	port uint16
	to   netip.Addr
	req  mad.REQ
	r    *rand.Rand
	sent int
}

func newSpoofer(t testing.TB, l *Listener) *spoofer {
	t.Helper()
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{})
	must(t, err)
	t.Cleanup(func() { conn.Close() })
	raw, err := conn.SyscallConn()
	must(t, err)
	// The ICRC covers the IP identification, which is zero where nothing is fragmented.
	must(t, raw.Control(func(fd uintptr) {
		must(t, unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_DO))
	}))
	return &spoofer{
		t: t, conn: conn, port: conn.LocalAddr().(*net.UDPAddr).AddrPort().Port(), to: l.Addr().Addr(),
		req: mad.REQ{Service: mad.PortService(l.Addr().Port()), MTU: mad.MTUOf(1024)}, r: rand.New(rand.NewPCG(1, 2)),
	}
}

// send sends one request, of a standard peer or of one that claims to be braid.
func (s *spoofer) send() {
	from := netip.AddrFrom4([4]byte{127, 200, byte(s.r.Uint32()), byte(s.r.Uint32())})
	s.req.LocalID, s.req.QPN = mad.CommID(s.r.Uint32()), verbs.QPN(2+s.r.Uint32N(1<<24-4))
	mad.IPHeader{Src: from, Dst: s.to}.Append(s.req.PrivateData[:0])
	var t *terms
	if s.r.IntN(2) == 0 {
		t = &terms{multiPath: true, retry: true, mtu: mad.MTUOf(1024), paths: 1, slots: 64}
	}
	clear(s.req.PrivateData[mad.IPHeaderLen:])
	must(s.t, pack(s.req.PrivateData[mad.IPHeaderLen:], nil, t))

	h := wire.Headers{
		BTH:  wire.BTH{Opcode: wire.UDSendOnly, PKey: wire.DefaultPKey, DestQP: mad.QPN},
		DETH: wire.DETH{QKey: mad.QKey, SrcQP: mad.QPN},
	}
	b := mad.Append(h.Append(nil), &s.req, mad.TransactionID(s.r.Uint64()))
	prefix := wire.ICRCPrefix4(from.As4(), s.to.As4(), s.port, wire.UDPPort, len(b)+4, 0)
	b = wire.AppendICRC(b, prefix.Whole(b).Sum())
	_, _, err := s.conn.WriteMsgUDPAddrPort(b, sourceAddr(from), netip.AddrPortFrom(s.to, wire.UDPPort))
	if err != nil && !errors.Is(err, net.ErrClosed) && !errors.Is(err, unix.ENOBUFS) {
		s.t.Errorf("spoof: %v", err)
	}
	s.sent++
}

// sourceAddr is the control message that chooses the source of a datagram.
func sourceAddr(from netip.Addr) []byte {
	b := make([]byte, unix.CmsgSpace(unix.SizeofInet4Pktinfo))
	binary.NativeEndian.PutUint64(b, uint64(unix.CmsgLen(unix.SizeofInet4Pktinfo)))
	binary.NativeEndian.PutUint32(b[8:], unix.IPPROTO_IP)
	binary.NativeEndian.PutUint32(b[12:], unix.IP_PKTINFO)
	addr := from.As4()
	copy(b[20:], addr[:]) // behind the index of the interface
	return b
}

// flood sends up to 100,000 requests a second until the context ends. It waits
// while a thousand of them have not been served, so that a slow machine is
// flooded as fast as it can take it; what is not served in a while was lost.
func (s *spoofer) flood(ctx context.Context, server *Manager) {
	const rate, burst, tick = 100_000, 500, time.Millisecond
	lost := 0
	for begin := time.Now(); ctx.Err() == nil; {
		due := int(time.Since(begin).Seconds()*rate) - s.sent
		for range min(due, burst) {
			s.send()
		}
		time.Sleep(tick)
		for waited := 0; s.sent-lost-int(server.Counters().Received) > 1000 && ctx.Err() == nil; waited++ {
			if time.Sleep(tick); waited == 100 {
				lost = s.sent - int(server.Counters().Received)
			}
		}
	}
}

// TestFloodOverSockets: clients connect while spoofed requests come as fast as
// this machine can serve them, up to 100,000 a second. The promise is a second
// for each client on a quiet machine, held where BRAID_STORM says so; elsewhere
// each has ten.
func TestFloodOverSockets(t *testing.T) {
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("control messages are laid out for 64 bits")
	}
	bound := 10 * time.Second
	if os.Getenv("BRAID_STORM") != "" {
		bound = time.Second
	}
	a, b := sockets(t)
	l, err := b.m.Listen(0)
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept(ctx, b.options(verbs.MP, ""))
			if err != nil {
				return
			}
			all.Go(func() {
				<-c.Done()
				c.Close()
			})
		}
	})
	s := newSpoofer(t, l)
	flooding, stop := context.WithCancel(ctx)
	begin := time.Now()
	all.Go(func() { s.flood(flooding, b.m) })
	for b.halfOpen() < 1000 && time.Since(begin) < 10*time.Second {
		time.Sleep(time.Millisecond) // until the unproven have taken what they can
	}
	var longest time.Duration
	clients := 0
	for ; clients < 3 || time.Since(begin) < 2*time.Second; clients++ {
		dialing, done := context.WithTimeout(ctx, bound)
		begin := time.Now()
		c, err := a.m.Dial(dialing, l.Addr().String(), a.options(verbs.MP, ""))
		if done(); err != nil {
			t.Fatalf("dial: %v; server %+v", err, b.m.Counters())
		}
		longest = max(longest, time.Since(begin))
		c.Close()
	}
	took := time.Since(begin)
	stop()
	must(t, l.Close())
	cancel()
	all.Wait()
	counters := b.m.Counters()
	t.Logf("%d spoofed requests in %v, %d served; %d clients waited at most %v; %+v", s.sent, took, counters.Received, clients, longest, counters)
	if counters.Retries == 0 {
		t.Error("the flood reached no limit")
	}
}
