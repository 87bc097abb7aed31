package udp

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"
)

func TestRoundTrip(t *testing.T) {
	repeat := func(size, n int) (sizes []int) {
		for range n {
			sizes = append(sizes, size)
		}
		return sizes
	}
	tests := []struct {
		name     string
		sizes    []int
		segments []int // where each packet stands in its message; nil: not checked
		messages uint64
	}{
		{"one small", []int{1}, []int{0}, 1},
		{"one large", []int{9000}, []int{0}, 1},
		{"equal run", repeat(4176, 4), []int{0, 1, 2, 3}, 1},
		{"shorter last", []int{1100, 1100, 1100, 17}, []int{0, 1, 2, 3}, 1},
		{"short one closes the run", []int{1100, 1100, 17, 17, 1100}, []int{0, 1, 2, 0, 0}, 3},
		{"longer one starts a run", []int{100, 200, 200, 300}, []int{0, 0, 1, 0}, 3},
		{"segment limit", repeat(60, 130), nil, 3},
		{"datagram limit", repeat(4176, 31), nil, 3}, // 15 fit into 65507 bytes
		{"packets without payload", repeat(16, 64), nil, 1},
	}
	for _, ip := range []netip.Addr{loopback4, loopback6} {
		for _, noGSO := range []bool{false, true} {
			for _, noGRO := range []bool{false, true} {
				for _, test := range tests {
					t.Run(fmt.Sprintf("%v/gso=%t/gro=%t/%s", ip, !noGSO, !noGRO, test.name), func(t *testing.T) {
						p := newPair(t, pairOptions{ip: ip, slots: 130, rx: rxOptions{noGRO: noGRO}, tx: txOptions{noGSO: noGSO}})
						var packets [][]byte
						var segments []int
						for i, size := range test.sizes {
							packets = append(packets, content(i, size))
							segments = append(segments, p.post(0, packets[i]))
						}
						if noGSO {
							if slices.Max(segments) != 0 {
								t.Fatalf("segments %v without UDP_SEGMENT", segments)
							}
						} else if test.segments != nil && !slices.Equal(segments, test.segments) {
							t.Fatalf("segments %v, want %v", segments, test.segments)
						}
						p.wantFlush(flushResult{sent: len(packets)})
						p.wantPackets(packets...)
						if got := p.pool.sockets[0].stats.messages; !noGSO && got != test.messages {
							t.Errorf("%d messages, want %d", got, test.messages)
						}
					})
				}
			}
		}
	}
}

func TestPathsAreSourcePorts(t *testing.T) {
	for _, ip := range []netip.Addr{loopback4, loopback6} {
		p := newPair(t, pairOptions{ip: ip, paths: 4})
		byPort := map[netip.AddrPort][]byte{}
		// The packets of the four paths alternate, and still make one message per path.
		for i := range 32 {
			path := i % 4
			if segment := p.post(path, content(path, 500)); segment != i/4 {
				t.Fatalf("packet %d of path %d is segment %d", i/4, path, segment)
			}
		}
		p.wantFlush(flushResult{sent: 32})
		for _, got := range p.collect(32, time.Minute) {
			byPort[got.src] = append(byPort[got.src], got.data[0])
		}
		if len(byPort) != 4 {
			t.Fatalf("%d source ports were seen, want 4", len(byPort))
		}
		for path, socket := range p.pool.sockets {
			seen := byPort[socket.local]
			if len(seen) != 8 || slices.ContainsFunc(seen, func(b byte) bool { return b != content(path, 1)[0] }) {
				t.Errorf("path %d from %v brought %v", path, socket.local, seen)
			}
			if socket.stats.messages != 1 || socket.stats.packets != 8 || socket.stats.bytes != 4000 {
				t.Errorf("path %d has the statistics %+v", path, socket.stats)
			}
		}
	}
}

func TestDestinationsDoNotJoin(t *testing.T) {
	p := newPair(t, pairOptions{})
	other := newPair(t, pairOptions{})
	mine, theirs := content(1, 300), content(2, 300)
	p.post(0, mine)
	p.dst, other.dst = other.dst, p.dst
	if segment := p.post(0, theirs); segment != 0 {
		t.Errorf("a packet to another peer became segment %d of a message", segment)
	}
	p.wantFlush(flushResult{sent: 2})
	p.wantPackets(mine)
	other.wantPackets(theirs)
}

func TestECNReachesReceiver(t *testing.T) {
	for _, ip := range []netip.Addr{loopback4, loopback6} {
		for ecn, want := range map[byte]byte{0: ecnECT0, 1: 1, 3: 3} {
			p := newPair(t, pairOptions{ip: ip, tx: txOptions{dscp: 26, ecn: ecn}})
			p.post(0, content(0, 100))
			p.post(0, content(1, 100))
			p.wantFlush(flushResult{sent: 2})
			for _, got := range p.wantPackets(content(0, 100), content(1, 100)) {
				if got.ecn != want {
					t.Errorf("%v: sent with ECN %d, received %d, want %d", ip, ecn, got.ecn, want)
				}
			}
		}
	}
}

func TestBatchFull(t *testing.T) {
	p := newPair(t, pairOptions{slots: 2})
	for i := range 2 {
		p.post(0, content(i, 100+i)) // growing sizes never join
	}
	if _, ok := p.batch.begin(0, p.dst, 0, 200); ok {
		t.Fatal("a full batch accepted a packet")
	}
	p.wantFlush(flushResult{sent: 2})
	p.wantPackets(content(0, 100), content(1, 101))
	p.post(0, content(2, 200))
	p.wantFlush(flushResult{sent: 1})
}

func TestManyPiecesPerPacket(t *testing.T) {
	p := newPair(t, pairOptions{})
	var want [][]byte
	for i := range 20 {
		packet := content(i, 12+maxPacketPieces*8+4)
		want = append(want, packet)
		if _, ok := p.batch.begin(0, p.dst, 0, len(packet)); !ok {
			t.Fatal("the batch is full")
		}
		copy(p.batch.header(12), packet)
		for piece := range maxPacketPieces {
			p.batch.payload(packet[12+piece*8:][:8])
		}
		copy(p.batch.header(4), packet[len(packet)-4:])
	}
	p.wantFlush(flushResult{sent: 20})
	p.wantPackets(want...)
}

func TestIncompletePacketPanics(t *testing.T) {
	p := newPair(t, pairOptions{})
	p.batch.begin(0, p.dst, 0, 100)
	p.batch.header(99)
	defer func() {
		if recover() == nil {
			t.Error("flush sent a packet that lacks a byte")
		}
	}()
	p.batch.flush()
}

func TestNoAllocations(t *testing.T) {
	p := newPair(t, pairOptions{paths: 2})
	packet := content(0, 1000)
	received := 0
	allocs := testing.AllocsPerRun(100, func() {
		for i := range 20 {
			p.batch.begin(i%2, p.dst, 0, len(packet))
			copy(p.batch.header(20), packet)
			p.batch.payload(packet[20:996])
			copy(p.batch.header(4), packet[996:])
		}
		p.batch.flush()
		p.poll.waker.wake()
		p.poll.wait(0)
		n, _ := p.rx.recv()
		for i := range n {
			received += len(p.rx.message(i).data)
		}
	})
	if allocs != 0 {
		t.Errorf("sending and receiving a batch allocates %v times", allocs)
	}
	if received != 101*20*1000 {
		t.Errorf("%d bytes arrived, want %d", received, 101*20*1000)
	}
}
