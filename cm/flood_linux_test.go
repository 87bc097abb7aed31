package cm

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/braid-rdma/braid/cm/mad"
	"github.com/braid-rdma/braid/udp"
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
	few  bool // addresses: those of deafAddr
}

// deafAddrs is the number of addresses at which somebody receives and never reads.
const deafAddrs = 64

func deafAddr(i int) netip.Addr { return netip.AddrFrom4([4]byte{127, 201, 0, byte(1 + i)}) }

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
	if s.few {
		from = deafAddr(s.r.IntN(deafAddrs))
	}
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

// flood sends so many requests a second until the context ends, or as many as this machine can.
func (s *spoofer) flood(ctx context.Context, rate int) {
	const burst = 500
	begin, first := time.Now(), s.sent
	for ; ctx.Err() == nil; time.Sleep(time.Millisecond) {
		due := int(time.Since(begin).Seconds()*float64(rate)) - (s.sent - first)
		for range min(due, burst) {
			s.send()
		}
	}
}

// TestFloodOverSockets: clients connect while spoofed requests come as fast as
// this machine can send them, up to 100,000 a second. The promise is a second
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
	all.Go(func() { s.flood(flooding, 100_000) })
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

// BenchmarkWriteBesideFlood: what forged requests leave of the goodput of a connection of the
// same device. The same flood at a socket that nobody reads tells what its sender costs this
// machine; the two take turns, on one connection. Sender and flooded have a processor each, as if
// there were a network between them.
func BenchmarkWriteBesideFlood(b *testing.B) {
	for _, rate := range []int{25_000, 100_000} {
		b.Run(fmt.Sprintf("%d", rate), func(b *testing.B) { writeBesideFlood(b, rate) })
	}
}

func writeBesideFlood(b *testing.B, rate int) {
	const turn = 250 * time.Millisecond
	client, server := sockets(b)
	l, err := server.m.Listen(0)
	must(b, err)
	defer l.Close()
	accepted := server.accepting(l, server.options(verbs.MP, ""))
	c, err := client.m.Dial(testContext(b), l.Addr().String(), client.options(verbs.MP, ""))
	must(b, err)
	must(b, (<-accepted).err)
	s := newSpoofer(b, l)
	// A network takes replies to whom nobody is; this machine would refuse each.
	s.few = true
	for i := range deafAddrs {
		deaf, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(deafAddr(i), wire.UDPPort)))
		must(b, err)
		defer deaf.Close()
	}
	targets := [2]netip.Addr{deafAddr(0), s.to}
	theirs := apart(b)
	w := newWriter(b, client, c, server)
	var kept []float64
	for i := 0; b.Loop(); i++ {
		var goodput [len(targets)]float64
		for j := range targets {
			at := (i + j) % len(targets)
			s.to = targets[at]
			flooding, stop := context.WithCancel(b.Context())
			var ended sync.WaitGroup
			ended.Go(func() { s.floodFrom(flooding, rate, theirs) })
			w.run(turn)
			if s.to == l.Addr().Addr() {
				w.runUntilFlooded(turn, server, rate)
			}
			goodput[at] = w.run(turn)
			stop()
			ended.Wait()
		}
		kept = append(kept, goodput[1]/goodput[0])
	}
	slices.Sort(kept)
	b.ReportMetric(kept[len(kept)/2], "kept")
	b.ReportMetric(float64(s.sent)/b.Elapsed().Seconds(), "requests/s")
}

// apart leaves one processor to this program, as long as the benchmark runs, and returns another.
func apart(b *testing.B) (other int) {
	var all unix.CPUSet
	must(b, unix.SchedGetaffinity(0, &all))
	var cpus []int
	for cpu := 0; len(cpus) < min(2, all.Count()); cpu++ {
		if all.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	if len(cpus) < 2 {
		b.Skip("needs two processors")
	}
	bindAll(b, only(cpus[0]))
	b.Cleanup(func() { bindAll(b, &all) })
	return cpus[1]
}

func only(cpu int) *unix.CPUSet {
	var set unix.CPUSet
	set.Set(cpu)
	return &set
}

// bindAll binds all threads of this program, and those that they start, to processors.
func bindAll(b *testing.B, to *unix.CPUSet) {
	b.Helper()
	threads, err := os.ReadDir("/proc/self/task")
	must(b, err)
	for _, t := range threads {
		id, err := strconv.Atoi(t.Name())
		must(b, err)
		if err := unix.SchedSetaffinity(id, to); !errors.Is(err, unix.ESRCH) {
			must(b, err)
		}
	}
}

// floodFrom is flood from a processor of its own.
func (s *spoofer) floodFrom(ctx context.Context, rate, cpu int) {
	runtime.LockOSThread() // and the thread ends with this goroutine
	must(s.t, unix.SchedSetaffinity(0, only(cpu)))
	s.flood(ctx, rate)
}

// writer keeps four WRITEs of 64 KiB outstanding.
type writer struct {
	b      *testing.B
	c      *Conn
	cq     *verbs.CQ
	wr     verbs.SendWR
	posted int
}

func newWriter(b *testing.B, s *side, c *Conn, to *side) *writer {
	const size = 64 << 10
	from, err := s.pd.AllocMemory(size, verbs.LocalWrite)
	must(b, err)
	target, err := to.pd.AllocMemory(size, verbs.LocalWrite|verbs.RemoteWrite)
	must(b, err)
	return &writer{b: b, c: c, cq: s.cq, wr: verbs.SendWR{
		Op: verbs.OpWrite, Flags: verbs.Signaled, SGEs: []verbs.SGE{from.SGE(0, size)},
		RemoteAddr: target.Addr(), RKey: target.RKey(),
	}}
}

// runUntilFlooded writes until a device has most of a flood dropped: it takes some thousands at once
// before it calls them one.
func (w *writer) runUntilFlooded(turn time.Duration, s *side, rate int) {
	w.b.Helper()
	for range 40 {
		before, _ := udp.StatsOf(s.m.Device())
		w.run(turn)
		after, _ := udp.StatsOf(s.m.Device())
		if float64(after.FloodDropped-before.FloodDropped) > float64(rate)*turn.Seconds()/2 {
			return
		}
	}
	w.b.Fatal("the device takes the flood")
}

// run writes for a while and returns the goodput.
func (w *writer) run(duration time.Duration) float64 {
	begin, bytes := time.Now(), 0
	const depth = 4
	var done [depth]verbs.Completion
	for time.Since(begin) < duration {
		for ; w.posted < depth; w.posted++ {
			must(w.b, w.c.QP().PostSend(&w.wr))
		}
		n, err := w.cq.Wait(w.b.Context(), done[:])
		must(w.b, err)
		for i := range n {
			must(w.b, done[i].Err())
		}
		w.posted -= n
		bytes += n * int(w.wr.SGEs[0].Length)
	}
	return float64(bytes) / time.Since(begin).Seconds()
}
