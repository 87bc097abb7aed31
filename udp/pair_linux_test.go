package udp

import (
	"bytes"
	"errors"
	"net/netip"
	"testing"
	"time"
)

var (
	loopback4 = netip.MustParseAddr("127.0.0.1")
	loopback6 = netip.MustParseAddr("::1")
)

// pair is a receiver and a batch of senders on the loopback interface, with the words
// of which the tests consist: post, flush, wantPackets.
type pair struct {
	t     *testing.T
	rx    *rxSocket
	pool  *txPool
	batch *txBatch
	dst   *destination
	poll  *receiverPoll
}

// receiverPoll waits for one receiver.
type receiverPoll struct {
	*pollSet
	rx *rxSocket
}

func (p *receiverPoll) wait(timeout time.Duration) (pollEvents, error) {
	p.arm(p.rx)
	return p.block(timeout)
}

// pairOptions chooses what a test's pair consists of; the zero value is one IPv4 path.
type pairOptions struct {
	ip    netip.Addr
	paths int
	rx    rxOptions
	tx    txOptions
	slots int
}

func newPair(t *testing.T, opt pairOptions) *pair {
	t.Helper()
	if !opt.ip.IsValid() {
		opt.ip = loopback4
	}
	rx, err := openRx(netip.AddrPortFrom(opt.ip, 0), opt.rx)
	if opt.ip.Is6() && errors.Is(err, ErrNoAddress) {
		t.Skip("this host has no IPv6")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rx.close() })
	pool, err := openTxPool(opt.ip, 0, max(opt.paths, 1), opt.tx)
	if err != nil {
		t.Fatal(err)
	}
	openAll(pool)
	t.Cleanup(func() { pool.close() })
	dst, err := newDestination(rx.local)
	if err != nil {
		t.Fatal(err)
	}
	wake, err := newWaker()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { wake.close() })
	return &pair{t: t, rx: rx, pool: pool, batch: newTxBatch(pool, opt.slots), dst: dst, poll: &receiverPoll{newPollSet(wake, pool), rx}}
}

// content returns n bytes that tell one packet from another.
func content(seed, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(seed*31 + i*7 + i>>8)
	}
	return b
}

// post adds a packet that consists of a 12-byte header, payload in two pieces, and a
// 4-byte trailer, as far as its size allows, and returns its index in its message.
func (p *pair) post(path int, packet []byte) int {
	p.t.Helper()
	segment, ok := p.batch.begin(path, p.dst, 0, len(packet))
	if !ok {
		p.t.Fatal("the batch is full")
	}
	head, tail := min(12, len(packet)), max(min(12, len(packet)), len(packet)-4)
	middle := head + (tail-head)/3
	copy(p.batch.header(head), packet[:head])
	p.batch.payload(packet[head:middle])
	p.batch.payload(packet[middle:tail])
	copy(p.batch.header(len(packet)-tail), packet[tail:])
	return segment
}

// wantFlush flushes and checks what it reports.
func (p *pair) wantFlush(want flushResult) {
	p.t.Helper()
	if got := p.batch.flush(); got != want {
		p.t.Fatalf("flush reports %+v, want %+v", got, want)
	}
}

// received is one packet as the receiver sees it.
type received struct {
	data []byte
	src  netip.AddrPort
	ecn  byte
}

// collect reads n packets, or as many as come within a time.
func (p *pair) collect(n int, within time.Duration) (packets []received) {
	p.t.Helper()
	deadline := time.Now().Add(within)
	for len(packets) < n && time.Now().Before(deadline) {
		count, err := p.rx.recv()
		if err != nil {
			p.t.Fatal(err)
		}
		for i := range count {
			m := p.rx.message(i)
			for data := m.data; len(data) > 0; {
				size := min(m.segment, len(data))
				packets = append(packets, received{bytes.Clone(data[:size]), m.src, m.ecn})
				data = data[size:]
			}
		}
		if count == 0 {
			if _, err := p.poll.wait(10 * time.Millisecond); err != nil {
				p.t.Fatal(err)
			}
		}
	}
	return packets
}

// wantPackets checks that exactly these packets arrive, in this order.
func (p *pair) wantPackets(want ...[]byte) []received {
	p.t.Helper()
	got := p.collect(len(want), time.Minute)
	if n, _ := p.rx.recv(); n != 0 {
		p.t.Fatalf("%d messages more than expected", n)
	}
	if len(got) != len(want) {
		p.t.Fatalf("%d packets arrived, want %d", len(got), len(want))
	}
	for i := range want {
		if !bytes.Equal(got[i].data, want[i]) {
			p.t.Fatalf("packet %d of %d bytes differs from the %d bytes sent", i, len(got[i].data), len(want[i]))
		}
	}
	return got
}
