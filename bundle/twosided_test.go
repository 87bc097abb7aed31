package bundle

import (
	"net/netip"
	"testing"

	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

func twoSided(c *Config) { c.TwoSided = true }

// TestTwoSided: messages of all lengths, into memory that the peer has no right to.
func TestTwoSided(t *testing.T) {
	eachNetwork(t, func(t *testing.T, a, b *side) {
		mr, err := b.pd.AllocMemory(1<<21, verbs.LocalWrite)
		must(t, err)
		defer mr.Deregister()
		pair(t, a, b, 3, twoSided)
		ctx := testContext(t)
		for i, length := range []int{0, 1, eager, eager + 1, 32 << 10, 1<<20 + 5} {
			data := a.fill(0, length, byte(i))
			must(t, b.conn.Post(Request{Op: OpReceive, Local: Buffer{mr, 7, 1<<20 + 5}}))
			must(t, a.conn.Send(ctx, a.buffer(0, length)))
			var out [1]Completion
			_, err := b.conn.Wait(ctx, out[:])
			must(t, err)
			must(t, out[0].Err)
			if out[0].Bytes != length || string(mr.Bytes()[7:][:length]) != string(data) {
				t.Errorf("length %d: %+v, or other bytes", length, out[0])
			}
		}
	})
}

// TestTwoSidedToOneSided: each side receives in its own way.
func TestTwoSidedToOneSided(t *testing.T) {
	a, b, _ := loopPair(t)
	l, err := Listen(b.manager, 0, b.config(1))
	must(t, err)
	cfg := a.config(2)
	twoSided(&cfg)
	dialTo(t, a, b, l, cfg)
	must(t, l.Close())
	defer b.conn.Close()
	defer a.conn.Close()
	for _, x := range [][2]*side{{a, b}, {b, a}} {
		from, to := x[0], x[1]
		data := from.fill(0, 1<<20, 6)
		must(t, to.conn.Post(Request{Op: OpReceive, Local: to.buffer(1<<20, 1<<20)}))
		must(t, from.conn.Send(testContext(t), from.buffer(0, 1<<20)))
		var out [1]Completion
		_, err := to.conn.Wait(testContext(t), out[:])
		must(t, err)
		must(t, out[0].Err)
		to.want(1<<20, data)
	}
}

// TestTwoSidedCutPath: a path dies in the middle, and each message arrives once.
func TestTwoSidedCutPath(t *testing.T) {
	a, b, n := loopPair(t)
	pair(t, a, b, 3, twoSided)
	exchangeWhile(t, a, b, func() {
		n.SetFilter(func(_, _ netip.Addr, p *transport.Packet) bool { return p.Path != 1 })
	})
	if a.conn.Stats().Repairs == 0 {
		t.Error("no queue pair was replaced: the cut was not noticed")
	}
}
