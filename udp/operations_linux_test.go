package udp

import (
	"bytes"
	"fmt"
	"net/netip"
	"testing"

	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

// TestOperationsByMTU runs every operation with every path MTU of the standard, and
// with others that MP may have, with and without the kernel's segmentation.
func TestOperationsByMTU(t *testing.T) {
	standard := []int{256, 512, 1024, 2048, 4096}
	for kind, mtus := range map[verbs.QPType][]int{
		verbs.RC: standard,
		verbs.MP: append(standard, 260, 1420, 1448, 8920, transport.MaxMPMTU),
	} {
		for _, mtu := range mtus {
			for _, plain := range []bool{false, true} {
				t.Run(fmt.Sprintf("%v/%d/plain=%v", kind, mtu, plain), func(t *testing.T) {
					a, b := connect(t, Config{Paths: 3, MTU: mtu, NoSegmentation: plain}, verbs.QPOptions{Type: kind}, 2<<20)
					if got := a.qp.Query().Attr.MTU; got != mtu {
						t.Errorf("path MTU %d, want %d", got, mtu)
					}
					for _, size := range []int{1, mtu, mtu + 1, 50_001} {
						testOperations(t, a, b, size)
					}
					if used := statsOf(t, a.dev).Paths[0].SegmentationUsed; used == plain {
						t.Errorf("segmentation is %v", used)
					}
				})
			}
		}
	}
}

// TestStandardMTU gives RC the largest path MTU of the standard where MP has more.
func TestStandardMTU(t *testing.T) {
	for mtu, want := range map[int]int{1420: 1024, 8920: 4096, 260: 256} {
		a, b := connect(t, Config{Paths: 2, MTU: mtu}, verbs.QPOptions{Type: verbs.RC}, 2<<20)
		if got := a.qp.Query().Attr.MTU; got != want {
			t.Errorf("a device with packets of %d bytes has RC queue pairs with %d, want %d", mtu, got, want)
		}
		testOperations(t, a, b, 5000)
	}
}

// TestOperationsIPv6 connects two queue pairs of one device: IPv6 has a single
// loopback address, and every device needs port 4791 of its address.
func TestOperationsIPv6(t *testing.T) {
	for _, kind := range []verbs.QPType{verbs.RC, verbs.MP} {
		t.Run(kind.String(), func(t *testing.T) {
			a, b := connectWithin(t, Config{Addr: netip.IPv6Loopback(), Paths: 3}, verbs.QPOptions{Type: kind}, 2<<20)
			for _, size := range []int{0, 5, 4096, 300_000} {
				testOperations(t, a, b, size)
			}
		})
	}
}

// connectWithin connects two queue pairs of one device, each with a completion
// queue and memory of its own.
func connectWithin(t testing.TB, cfg Config, o verbs.QPOptions, size int) (a, b *end) {
	t.Helper()
	a = openEnd(t, cfg, o, size)
	b = secondEnd(t, a, o, size)
	join(t, a, b)
	return a, b
}

// secondEnd makes another queue pair on the device of an end.
func secondEnd(t testing.TB, first *end, o verbs.QPOptions, size int) *end {
	t.Helper()
	s := &end{t: t, dev: first.dev, pd: first.pd}
	var err error
	s.cq, err = s.dev.CreateCQ(1024)
	noError(t, err)
	s.mr, err = s.pd.AllocMemory(size, allRights)
	noError(t, err)
	o.SendCQ = s.cq
	s.qp, err = s.pd.CreateQP(o)
	noError(t, err)
	return s
}

// join connects the queue pairs of two ends.
func join(t testing.TB, a, b *end) {
	t.Helper()
	pa, pb := a.qp.Params(), b.qp.Params()
	noError(t, a.qp.Connect(pb))
	noError(t, b.qp.Connect(pa))
}

func TestDatagrams(t *testing.T) {
	t.Run("IPv4", func(t *testing.T) {
		o := verbs.QPOptions{Type: verbs.UD}
		testDatagrams(t, openEnd(t, Config{Paths: 2}, o, 1<<20), openEnd(t, Config{Paths: 2}, o, 1<<20))
	})
	t.Run("IPv6", func(t *testing.T) {
		o := verbs.QPOptions{Type: verbs.UD}
		a := openEnd(t, Config{Addr: netip.IPv6Loopback(), Paths: 2}, o, 1<<20)
		testDatagrams(t, a, secondEnd(t, a, o, 1<<20))
	})
}

// testDatagrams sends datagrams of several sizes from a to b, and an answer to
// the address that b learnt.
func testDatagrams(t *testing.T, a, b *end) {
	const key = 0x11223344
	noError(t, a.qp.Activate(key))
	noError(t, b.qp.Activate(key))
	to, err := a.pd.CreateAH(b.dev.Query().Local)
	noError(t, err)
	fill(a.mr.Bytes()[:4096], 3)
	for _, size := range []int{0, 1, 100, 4096} {
		noError(t, b.qp.PostRecv(&verbs.RecvWR{ID: uint64(size), SGEs: []verbs.SGE{b.mr.SGE(0, 8192)}}))
		noError(t, a.qp.PostSend(&verbs.SendWR{
			Op: verbs.OpSendImm, Flags: verbs.Signaled, Imm: 9, SGEs: []verbs.SGE{a.mr.SGE(0, size)},
			AH: to, RemoteQPN: b.qp.Number(), RemoteQKey: key,
		}))
		a.wait()
		c := b.wait()
		if c.WRID != uint64(size) || int(c.Bytes) != size+verbs.GRHLength || c.Imm != 9 || c.SrcQP != a.qp.Number() {
			t.Fatalf("receive: %+v", c)
		}
		if !bytes.Equal(b.mr.Bytes()[verbs.GRHLength:][:size], a.mr.Bytes()[:size]) {
			t.Fatal("wrong bytes")
		}
		noError(t, a.qp.PostRecv(&verbs.RecvWR{SGEs: []verbs.SGE{a.mr.SGE(8192, 8192)}}))
		noError(t, b.qp.PostSend(&verbs.SendWR{
			Op: verbs.OpSend, Flags: verbs.Signaled, Inline: []byte("answer"),
			AH: c.Source, RemoteQPN: c.SrcQP, RemoteQKey: key,
		}))
		b.wait()
		if c := a.wait(); string(a.mr.Bytes()[8192+verbs.GRHLength:][:6]) != "answer" || c.Bytes != verbs.GRHLength+6 {
			t.Fatalf("answer: %+v", c)
		}
	}
}

// TestSharedReceiveQueue lets three connections draw from one receive queue.
func TestSharedReceiveQueue(t *testing.T) {
	for _, kind := range []verbs.QPType{verbs.RC, verbs.MP} {
		t.Run(kind.String(), func(t *testing.T) {
			server := openEnd(t, Config{Paths: 2}, verbs.QPOptions{Type: kind}, 1<<20)
			srq, err := server.pd.CreateSRQ(64, 1)
			noError(t, err)
			for i := range 30 {
				noError(t, srq.PostRecv(&verbs.RecvWR{ID: uint64(i), SGEs: []verbs.SGE{server.mr.SGE(i*16384, 16384)}}))
			}
			for client := range 3 {
				a := openEnd(t, Config{Paths: 2}, verbs.QPOptions{Type: kind}, 1<<20)
				b := *server
				b.qp, err = server.pd.CreateQP(verbs.QPOptions{Type: kind, SendCQ: server.cq, SRQ: srq})
				noError(t, err)
				join(t, a, &b)
				fill(a.mr.Bytes()[:10_000], uint64(client))
				for range 10 {
					noError(t, a.qp.PostSend(&verbs.SendWR{Op: verbs.OpSend, Flags: verbs.Signaled, SGEs: []verbs.SGE{a.mr.SGE(0, 10_000)}}))
					a.wait()
					c := b.wait()
					if c.QPN != b.qp.Number() || !bytes.Equal(server.mr.Bytes()[int(c.WRID)*16384:][:10_000], a.mr.Bytes()[:10_000]) {
						t.Fatalf("client %d: %+v", client, c)
					}
				}
			}
			if srq.Len() != 0 {
				t.Errorf("%d receives are left", srq.Len())
			}
		})
	}
}

// TestManyDevices runs a ring of devices in one process.
func TestManyDevices(t *testing.T) {
	const devices = 5
	var from, to [devices]*end
	for i := range devices {
		from[i] = openEnd(t, Config{Paths: 2}, verbs.QPOptions{Type: verbs.MP}, 1<<20)
	}
	for i := range devices {
		to[i] = secondEnd(t, from[(i+1)%devices], verbs.QPOptions{Type: verbs.MP}, 1<<20)
		join(t, from[i], to[i])
	}
	var streams [devices]*stream
	for i := range devices {
		streams[i] = newStream(from[i], to[i], 32<<10, 8)
	}
	for range 4 {
		for _, s := range streams {
			s.run(20)
		}
	}
}

// TestNoAllocation posts and polls over real sockets; nothing on the way may
// allocate, at either end.
func TestNoAllocation(t *testing.T) {
	for _, kind := range []verbs.QPType{verbs.RC, verbs.MP} {
		for _, size := range []int{64, 100_000} {
			t.Run(fmt.Sprintf("%v/%d", kind, size), func(t *testing.T) {
				a, b := connect(t, Config{Paths: 4}, verbs.QPOptions{Type: kind, SignalAll: true}, 1<<20)
				sges := []verbs.SGE{a.mr.SGE(0, size)}
				write := verbs.SendWR{Op: verbs.OpWrite, SGEs: sges, RemoteAddr: b.mr.Addr(), RKey: b.mr.RKey()}
				read := verbs.SendWR{Op: verbs.OpRead, SGEs: sges, RemoteAddr: b.mr.Addr(), RKey: b.mr.RKey()}
				send := verbs.SendWR{Op: verbs.OpSend, SGEs: sges}
				recv := verbs.RecvWR{SGEs: []verbs.SGE{b.mr.SGE(0, size)}}
				one := func(wr *verbs.SendWR) {
					if wr.Op == verbs.OpSend {
						noError(t, b.qp.PostRecv(&recv))
					}
					noError(t, a.qp.PostSend(wr))
					a.next(b)
					if wr.Op == verbs.OpSend {
						b.next(a)
					}
				}
				for _, wr := range []*verbs.SendWR{&write, &read, &send} {
					for range 300 { // caches and scratch space reach their size
						one(wr)
					}
					if n := testing.AllocsPerRun(500, func() { one(wr) }); n != 0 {
						t.Errorf("%v: %v allocations per operation", wr.Op, n)
					}
				}
			})
		}
	}
}

// next polls until a completion comes, which must be a success. It runs the
// peer's engine as well, since AllocsPerRun leaves the program one processor,
// on which a poller would keep the peer's own thread waiting.
func (s *end) next(peer *end) {
	var out [1]verbs.Completion
	for {
		n, err := s.cq.Poll(out[:])
		if err != nil {
			s.t.Fatal(err)
		}
		if n == 0 {
			peer.dev.Progress()
			continue
		}
		if out[0].Status != transport.Success {
			s.t.Fatal(out[0].Err())
		}
		return
	}
}
