package bundle

import (
	"errors"
	"net/netip"
	"sync/atomic"
	"testing"

	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/udp"
	"github.com/braid-rdma/braid/verbs"
)

// eachNetwork runs a test in memory and on sockets.
func eachNetwork(t *testing.T, f func(t *testing.T, a, b *side)) {
	t.Run("loopnet", func(t *testing.T) {
		a, b, _ := loopPair(t)
		f(t, a, b)
	})
	t.Run("udp", func(t *testing.T) {
		a, b := socketPair(t)
		f(t, a, b)
	})
}

func TestOperations(t *testing.T) {
	eachNetwork(t, func(t *testing.T, a, b *side) {
		pair(t, a, b, 4, nil)
		ctx := testContext(t)
		for _, length := range []int{0, 1, 100, 32 << 10, 1<<20 + 5} {
			data := a.fill(0, length, 1)
			must(t, a.conn.Write(ctx, a.buffer(0, length), b.at(100)))
			b.want(100, data)
			must(t, a.conn.Read(ctx, a.buffer(1<<21, length), b.at(100)))
			a.want(1<<21, data)

			result := make(chan error, 1)
			data = a.fill(0, length, 2)
			go func() {
				n, err := b.conn.Receive(ctx, b.buffer(1<<21, 1<<21))
				if err == nil && n != length {
					err = errors.New("wrong length")
				}
				result <- err
			}()
			must(t, a.conn.Send(ctx, a.buffer(0, length)))
			must(t, <-result)
			b.want(1<<21, data)
		}
	})
}

// TestPathsDiffer: the queue pairs of a connection use as many paths.
func TestPathsDiffer(t *testing.T) {
	a, b, n := loopPair(t)
	var seen [4]atomic.Int64
	n.SetFilter(func(_, _ netip.Addr, p *transport.Packet) bool {
		seen[p.Path].Add(int64(p.Length))
		return true
	})
	pair(t, a, b, 4, nil)
	must(t, a.conn.Write(testContext(t), a.buffer(0, 1<<20), b.at(0)))
	for path := range seen {
		if seen[path].Load() < 32<<10 {
			t.Errorf("path %d carried %d bytes", path, seen[path].Load())
		}
	}
}

// TestPosted: asynchronous requests complete in order, once.
func TestPosted(t *testing.T) {
	eachNetwork(t, func(t *testing.T, a, b *side) {
		for name, balancer := range map[string]func() Balancer{
			"round robin": RoundRobin, "random": func() Balancer { return Random(1) }, "least": LeastOutstanding,
			"paper": func() Balancer { return DynamicChunks(1) }, "proportional": Proportional,
		} {
			t.Run(name, func(t *testing.T) { postMany(t, a, b, balancer) })
		}
	})
}

func postMany(t *testing.T, a, b *side, balancer func() Balancer) {
	pair(t, a, b, 3, func(c *Config) { c.Balancer, c.Chunk = balancer, 4096 })
	const requests, size = 50, 20000
	data := a.fill(0, requests*size, 3)
	for i := range requests {
		must(t, a.conn.Post(Request{ID: uint64(i), Op: OpWrite, Local: a.buffer(i*size, size), Remote: b.at(i * size)}))
	}
	var out [8]Completion
	for next := uint64(0); next < requests; {
		n, err := a.conn.Wait(testContext(t), out[:])
		must(t, err)
		for _, c := range out[:n] {
			must(t, c.Err)
			if c.ID != next || c.Bytes != size {
				t.Fatalf("completion %+v, want request %d", c, next)
			}
			next++
		}
	}
	b.want(0, data)
}

// TestCutPath: a path dies in the middle of transfers of all kinds. Nothing is lost or
// repeated that the programs could see, and the queue pair comes back.
func TestCutPath(t *testing.T) {
	a, b := socketPair(t)
	pair(t, a, b, 3, nil)
	exchangeWhile(t, a, b, func() {
		udp.FaultsOf(a.dev).Cut(1)
		udp.FaultsOf(b.dev).Cut(1)
	})
	if a.conn.Stats().Repairs == 0 {
		t.Error("no queue pair was replaced: the cut was not noticed")
	}
}

// TestCutPathInMemory is the same where packets are dropped without sockets.
func TestCutPathInMemory(t *testing.T) {
	a, b, n := loopPair(t)
	pair(t, a, b, 3, nil)
	exchangeWhile(t, a, b, func() {
		n.SetFilter(func(_, _ netip.Addr, p *transport.Packet) bool { return p.Path != 1 })
	})
	if a.conn.Stats().Repairs == 0 {
		t.Error("no queue pair was replaced: the cut was not noticed")
	}
}

// exchangeWhile writes, reads and sends in rounds, and lets something happen in the
// middle.
func exchangeWhile(t *testing.T, a, b *side, happen func()) {
	t.Helper()
	const rounds, size = 24, 300000
	ctx := testContext(t)
	received := make(chan error, 1)
	go func() {
		for i := range rounds {
			n, err := b.conn.Receive(ctx, b.buffer(1<<20, 1<<20))
			if err == nil && n != size+i {
				err = errors.New("a message is lost or repeated")
			}
			received <- err
		}
	}()
	for i := range rounds {
		if i == rounds/4 {
			happen()
		}
		data := a.fill(0, size+i, byte(i))
		must(t, a.conn.Post(Request{Op: OpWrite, Local: a.buffer(0, size+i), Remote: b.at(0)}))
		must(t, a.conn.Post(Request{Op: OpSend, Local: a.buffer(0, size+i)}))
		must(t, <-received)
		b.want(0, data)
		b.want(1<<20, data)
		must(t, a.conn.Read(ctx, a.buffer(1<<20, size+i), b.at(0)))
		a.want(1<<20, data)
		var out [8]Completion
		for left := 2; left > 0; {
			n, err := a.conn.Wait(ctx, out[:left])
			must(t, err)
			for _, c := range out[:n] {
				must(t, c.Err)
			}
			left -= n
		}
	}
}

// TestRefusedRequest: a request that is at fault fails alone, and the connection lives.
func TestRefusedRequest(t *testing.T) {
	eachNetwork(t, func(t *testing.T, a, b *side) {
		pair(t, a, b, 2, nil)
		wrong := b.at(0)
		wrong.RKey++
		if err := a.conn.Write(testContext(t), a.buffer(0, 1<<20), wrong); !errors.Is(err, verbs.ErrRemoteAccess) {
			t.Errorf("got %v, want ErrRemoteAccess", err)
		}
		data := a.fill(0, 1<<20, 9)
		must(t, a.conn.Write(testContext(t), a.buffer(0, 1<<20), b.at(0)))
		b.want(0, data)
	})
}

// TestTooLong: a message that does not fit fails on both sides, and the next passes.
func TestTooLong(t *testing.T) {
	a, b, _ := loopPair(t)
	pair(t, a, b, 2, nil)
	ctx := testContext(t)
	must(t, b.conn.Post(Request{ID: 1, Op: OpReceive, Local: b.buffer(0, 10)}))
	must(t, b.conn.Post(Request{ID: 2, Op: OpReceive, Local: b.buffer(0, 10)}))
	if err := a.conn.Send(ctx, a.buffer(0, 11)); !errors.Is(err, ErrTooLong) {
		t.Errorf("got %v, want ErrTooLong", err)
	}
	must(t, a.conn.Send(ctx, a.buffer(0, 10)))
	var out [2]Completion
	for got := 0; got < 2; {
		n, err := b.conn.Wait(ctx, out[got:])
		must(t, err)
		got += n
	}
	if !errors.Is(out[0].Err, ErrTooLong) || out[1].Err != nil || out[1].Bytes != 10 {
		t.Errorf("completions %+v", out)
	}
}

// TestPeerCloses: what is outstanding fails, and the other side learns it soon.
func TestPeerCloses(t *testing.T) {
	eachNetwork(t, func(t *testing.T, a, b *side) {
		pair(t, a, b, 2, nil)
		must(t, b.conn.Post(Request{ID: 5, Op: OpReceive, Local: b.buffer(0, 10)}))
		must(t, a.conn.Close())
		var out [2]Completion
		n, err := b.conn.Wait(testContext(t), out[:])
		must(t, err)
		if n != 1 || out[0].ID != 5 || !errors.Is(out[0].Err, ErrPeerClosed) {
			t.Errorf("%d completions, %+v", n, out[0])
		}
		if err := b.conn.Write(testContext(t), b.buffer(0, 1), a.at(0)); !errors.Is(err, ErrPeerClosed) {
			t.Errorf("got %v, want ErrPeerClosed", err)
		}
	})
}

// TestMultiPathQueuePairs: the queue pairs may be MP themselves.
func TestMultiPathQueuePairs(t *testing.T) {
	a, b := socketPair(t)
	pair(t, a, b, 2, func(c *Config) { c.QP = verbs.QPOptions{Type: verbs.MP} })
	if kind := a.conn.current(a.conn.lanes[0]).Type(); kind != verbs.MP {
		t.Errorf("got %v, want MP", kind)
	}
	exchangeWhile(t, a, b, func() {})
}
