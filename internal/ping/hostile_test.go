package ping

import (
	"bytes"
	"net/netip"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

// stranger is a datagram queue pair of another host.
type stranger struct {
	*bench
	end endpoint
}

func (b *bench) stranger() *stranger {
	b.t.Helper()
	end, err := openEndpoint(b.open(), 0, false)
	must(b.t, err)
	b.t.Cleanup(end.close)
	return &stranger{b, end}
}

// send sends bytes to a datagram queue pair.
func (s *stranger) send(to *endpoint, payload []byte) {
	s.t.Helper()
	h, err := s.end.pd.CreateAH(to.device.Query().Local)
	must(s.t, err)
	mr, err := s.end.pd.AllocMemory(len(payload)+1, verbs.LocalWrite)
	must(s.t, err)
	copy(mr.Bytes(), payload)
	must(s.t, s.end.qp.PostSend(&verbs.SendWR{
		Op: verbs.OpSend, SGEs: []verbs.SGE{mr.SGE(0, len(payload))}, AH: h, RemoteQPN: to.qp.Number(), RemoteQKey: verbs.QKey(to.qkey),
	}))
	synctest.Wait()
}

// probe is a datagram as a prober would send it.
func (s *stranger) probe(size int) []byte {
	b := make([]byte, size)
	h := header{kind: kindProbe, path: 1, token: 7, qkey: s.end.qkey}
	h.put(b)
	return b
}

func TestResponderIgnoresWhatIsNoProbe(t *testing.T) {
	inBench(t, ResponderOptions{}, func(b *bench) {
		s := b.stranger()
		reply, old := s.probe(64), s.probe(64)
		reply[5], old[4] = byte(kindReply), version+1
		bad := [][]byte{nil, {1}, s.probe(64)[:MinSize-1], reply, old, bytes.Repeat([]byte{0xff}, 4096)}
		for _, payload := range bad {
			s.send(&b.responder.endpoint, payload)
		}
		if c := b.responder.Counters(); c.Malformed != uint64(len(bad)) || c.Replies != 0 {
			t.Errorf("the responder counts %+v, want %d malformed ones", c, len(bad))
		}
		s.send(&b.responder.endpoint, s.probe(MinSize))
		if c := b.responder.Counters(); c.Replies != 1 {
			t.Errorf("a probe after them: %+v", c)
		}
	})
}

// TestNoAmplification: whatever comes, not more bytes go out than came in, and no more packets.
func TestNoAmplification(t *testing.T) {
	inBench(t, ResponderOptions{}, func(b *bench) {
		responder := b.manager.Device().Query().Local
		var in, out, packets atomic.Int64
		b.drop(func(from netip.Addr, p *transport.Packet) bool {
			if isDatagram(p) && from == responder {
				out.Add(int64(p.Length))
				packets.Add(-1)
			} else if isDatagram(p) {
				in.Add(int64(p.Length))
				packets.Add(1)
			}
			return false
		})
		s := b.stranger()
		for size := MinSize; size <= 4096; size += 123 {
			s.send(&b.responder.endpoint, s.probe(size))
			if out.Load() > in.Load() || packets.Load() < 0 {
				t.Fatalf("%d bytes came in and %d went out", in.Load(), out.Load())
			}
		}
		if out.Load() != in.Load() {
			t.Errorf("%d bytes came in, %d went out: each probe has a reply of its length", in.Load(), out.Load())
		}
	})
}

// bucketOf is where the responder counts the datagrams of an end.
func (b *bench) bucketOf(e *endpoint) *bucket {
	return b.responder.limit.bucketOf(e.device.Query().Local)
}

// TestRateOfASource: a source that asks too often has no replies for a while, and others have theirs.
func TestRateOfASource(t *testing.T) {
	inBench(t, ResponderOptions{Rate: 100}, func(b *bench) {
		s, peer := b.stranger(), b.connect()
		for b.bucketOf(&s.end) == b.bucketOf(&b.prober.endpoint) {
			s = b.stranger()
		}
		for range burst + 50 {
			s.send(&b.responder.endpoint, s.probe(64))
		}
		if c := b.responder.Counters(); c.Limited != 50 || c.Replies != burst {
			t.Errorf("the responder counts %+v", c)
		}
		if r := b.ping(peer, Probe{UD, 0, 64}); r.Err != nil {
			t.Errorf("another source: %v", r.Err)
		}
		time.Sleep(100 * time.Millisecond)
		for range 12 {
			s.send(&b.responder.endpoint, s.probe(64))
		}
		if c := b.responder.Counters(); c.Limited != 52 || c.Replies != burst+1+10 {
			t.Errorf("after 100 ms at 100/s: %+v", c)
		}
	})
}

// waiting is a probe of the prober that waits, and its token.
func (b *bench) waiting() (token uint64, w pending) {
	b.t.Helper()
	synctest.Wait()
	b.prober.mu.Lock()
	defer b.prober.mu.Unlock()
	for t, p := range b.prober.pending {
		return t, *p
	}
	b.t.Fatal("no probe waits")
	return 0, w
}

// TestForgedReplies: a reply counts if it is of the queue pair that was asked, and once.
func TestForgedReplies(t *testing.T) {
	inBench(t, ResponderOptions{}, func(b *bench) {
		peer, s := b.connect(), b.stranger()
		var replies [][]byte // of the responder, which are lost
		b.drop(func(from netip.Addr, p *transport.Packet) bool {
			if isDatagram(p) && from == peer.Addr() {
				replies = append(replies, bytes.Clone(p.Spans[0].Bytes()))
				return true
			}
			return false
		})
		result := make(chan Result, 1)
		go func() { result <- b.ping(peer, Probe{UD, 1, 64}) }()
		token, _ := b.waiting()
		good := replies[0]

		s.send(&b.prober.endpoint, good) // of another host
		s.send(&b.prober.endpoint, good[:20])
		b.network.SetFilter(nil)
		forge := (&stranger{b, b.responder.endpoint}).send // of the responder's own queue pair
		change := func(f func(h *header)) []byte {
			h, err := parseHeader(good, kindReply)
			must(t, err)
			f(&h)
			c := bytes.Clone(good)
			h.put(c)
			return c
		}
		forge(&b.prober.endpoint, append(bytes.Clone(good), 0)) // longer than the probe
		forge(&b.prober.endpoint, change(func(h *header) { h.path = 3 }))
		forge(&b.prober.endpoint, change(func(h *header) { h.token++ }))
		forge(&b.prober.endpoint, change(func(h *header) { h.kind = kindProbe }))
		if c := b.prober.Counters(); c.Strays != 4 || c.Malformed != 2 {
			t.Errorf("the prober counts %+v", c)
		}
		if again, _ := b.waiting(); again != token {
			t.Error("a forged reply has ended the probe")
		}
		forge(&b.prober.endpoint, good)
		if r := <-result; r.Err != nil {
			t.Errorf("the true reply: %v", r.Err)
		}
		forge(&b.prober.endpoint, good) // once more
		if c := b.prober.Counters(); c.Strays != 5 {
			t.Errorf("after a replay the prober counts %+v", c)
		}
	})
}

// TestLyingResponder: stamps that cannot be make no negative times.
func TestLyingResponder(t *testing.T) {
	for _, s := range []Stamps{
		{100, 110, 5, 5000, 180, 200},
		{100, 110, 5000, 5, 180, 200},
		{100, 190, 5, 20, 180, 200}, // the reply came before the post returned
	} {
		n, p, r := s.Network(), s.Prober(), s.Responder()
		if n < 0 || p < 0 || r < 0 || n+p+r != s.RTT() {
			t.Errorf("%v: network %v, prober %v, responder %v", s, n, p, r)
		}
	}
}
