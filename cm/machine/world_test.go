package machine

import (
	"container/heap"
	"fmt"
	"hash/crc32"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/braid-rdma/braid/cm/mad"
	"github.com/braid-rdma/braid/internal/seeds"
	"github.com/braid-rdma/braid/wire"
)

// world is a network in virtual time with a program on each machine: one asks
// for connections, one grants them. All of it is a function of the seed.
type world struct {
	t        *testing.T
	r        *rand.Rand
	now      Time
	ends     map[netip.Addr]*player
	a, b     *player
	hostile  *hostilePeer // nil: nobody lies
	flying   flights
	launched int

	loss, corruption, duplication float64
	longestTrip, longestThought   Time
	// excess is how many datagrams come to b for each that its device takes; 0: it takes all.
	excess int
}

// player is a machine and the program that uses it.
type player struct {
	w    *world
	m    *Machine
	addr netip.Addr

	up, down map[mad.CommID]bool
	upAt     map[mad.CommID]Time
	failed   int
	qpn      wire.QPN // of the queue pair made last
}

// flight is a datagram on its way, or a call of a program that takes time.
type flight struct {
	at       Time
	order    int
	from, to netip.Addr
	bytes    []byte
	sum      uint32
	call     func()
}

type flights []*flight

func (f flights) Len() int { return len(f) }
func (f flights) Less(i, j int) bool {
	return f[i].at < f[j].at || f[i].at == f[j].at && f[i].order < f[j].order
}
func (f flights) Swap(i, j int) { f[i], f[j] = f[j], f[i] }
func (f *flights) Push(x any)   { *f = append(*f, x.(*flight)) }
func (f *flights) Pop() any {
	last := len(*f) - 1
	x := (*f)[last]
	*f = (*f)[:last]
	return x
}

// patience is the time for an attempt. Half of all datagrams are lost or changed
// on their way, so one of five round trips succeeds, and a request is sent every
// half second: the default of 15 s ends one of 400,000 connections by bad luck.
// This leaves none in a million seeds, and every failure is the machine's.
const patience = 60 * Second

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{
		t: t, r: rand.New(rand.NewPCG(seed, 99)), now: 1, ends: map[netip.Addr]*player{},
		longestTrip: 40 * Millisecond, longestThought: 300 * Millisecond,
	}
	for i, p := range []**player{&w.a, &w.b} {
		cfg := Config{
			GUID: uint64(i), Rand: rand.New(rand.NewPCG(seed, uint64(i))), SupportsRetry: isBraid,
			ConnectTimeout: patience, ReadyTimeout: 2 * patience,
		}
		*p = &player{
			w: w, m: New(cfg), addr: netip.AddrFrom4([4]byte{10, 0, 0, byte(i + 1)}),
			up: map[mad.CommID]bool{}, down: map[mad.CommID]bool{}, upAt: map[mad.CommID]Time{},
		}
		w.ends[(*p).addr] = *p
	}
	if err := w.b.m.Listen(service, 1000); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) launch(f *flight, delay Time) {
	w.launched++
	f.at, f.order = w.now+delay, w.launched
	heap.Push(&w.flying, f)
}

// pump lets a machine say and do what it has to.
func (p *player) pump() {
	for {
		e, ok := p.m.PollEvent()
		if !ok {
			break
		}
		p.act(e)
	}
	for {
		to, b, ok := p.m.PollSend()
		if !ok {
			return
		}
		copies := 1
		if p.w.r.Float64() < p.w.duplication {
			copies = 2
		}
		for range copies {
			p.w.carry(p.addr, to, b)
		}
	}
}

// taken says whether the device of b takes a datagram.
func (w *world) taken() bool { return w.excess == 0 || w.r.IntN(w.excess) == 0 }

// carry loses, changes or delays a datagram. A sum stands for the ICRC, which
// makes the receiver drop what was changed on the way.
func (w *world) carry(from, to netip.Addr, b []byte) {
	somebody := w.ends[to] != nil || w.hostile != nil && to == w.hostile.addr
	if !somebody || w.r.Float64() < w.loss || to == w.b.addr && !w.taken() {
		return
	}
	f := &flight{from: from, to: to, bytes: append([]byte(nil), b...), sum: crc32.ChecksumIEEE(b)}
	if w.r.Float64() < w.corruption {
		f.bytes[w.r.IntN(len(f.bytes))] ^= 1 << w.r.IntN(8)
	}
	w.launch(f, Time(w.r.Int64N(int64(w.longestTrip)))+1)
}

// act is the program: it grants and goes on, after a while.
func (p *player) act(e Event) {
	thinks := Time(p.w.r.Int64N(int64(p.w.longestThought)))
	later := func(f func() error) {
		p.w.launch(&flight{call: func() {
			// The connection may have ended meanwhile.
			_ = f()
			p.pump()
		}}, thinks)
	}
	switch e.Kind {
	case Requested:
		p.qpn++ // a queue pair has one connection
		rep := mad.REP{QPN: p.qpn}
		later(func() error { return p.m.Accept(p.w.now, e.ID, rep, true) })
	case Replied:
		later(func() error {
			err := p.m.Ready(p.w.now, e.ID, true)
			if err == nil {
				p.up[e.ID], p.upAt[e.ID] = true, p.w.now
			}
			return err
		})
	case Established:
		p.up[e.ID] = true
	case Rejected, TimedOut:
		p.failed++
	case Disconnected, Closed:
		if p.down[e.ID] {
			p.w.t.Errorf("connection %#x ended twice", e.ID)
		}
		p.down[e.ID] = true
	}
}

// run lets everything happen up to a time.
func (w *world) run(until Time) {
	for {
		next := min(w.a.m.Timeout(), w.b.m.Timeout())
		if len(w.flying) > 0 {
			next = min(next, w.flying[0].at)
		}
		if next > until {
			w.now = until
			return
		}
		w.now = max(w.now, next)
		for len(w.flying) > 0 && w.flying[0].at <= w.now {
			w.land(heap.Pop(&w.flying).(*flight))
		}
		for _, p := range []*player{w.a, w.b} {
			p.m.HandleTimeout(w.now)
			p.pump()
		}
	}
}

func (w *world) land(f *flight) {
	if f.call != nil {
		f.call()
		return
	}
	if crc32.ChecksumIEEE(f.bytes) != f.sum {
		_, _, _ = mad.Parse(f.bytes) // must not panic
		return
	}
	to := w.ends[f.to]
	if to == nil {
		w.hostile.handle(f.bytes)
		return
	}
	to.m.Handle(w.now, f.from, f.bytes)
	to.pump()
}

// TestSeedsHandshake connects under 30 % loss and 30 % corruption, with
// duplication and reordering, and disconnects from a random side or both: each
// connection comes up on both sides, ends once on both, and leaves nothing.
func TestSeedsHandshake(t *testing.T) {
	first, count := seeds.Range(t, 500)
	for seed := first; seed < first+count; seed++ {
		t.Run(fmt.Sprintf("seed%d", seed), func(t *testing.T) {
			seeds.SayReplay(t, seed, "./cm/machine")
			w := newWorld(t, seed)
			w.loss, w.corruption, w.duplication = 0.3, 0.3, 0.2
			if seed%2 == 0 {
				w.b.m.unproven.limit = 0 // cookies for all
			}
			const connections = 5
			for i := range wire.QPN(connections) {
				if _, err := w.a.m.Connect(w.now, w.b.addr, braidREQ(0x100+i)); err != nil {
					t.Fatal(err)
				}
			}
			w.a.pump()
			w.run(3 * patience)
			if len(w.a.up) != connections || len(w.b.up) != connections || w.a.failed+w.b.failed > 0 {
				t.Fatalf("up %d and %d, failed %d and %d", len(w.a.up), len(w.b.up), w.a.failed, w.b.failed)
			}
			for i, p := range []*player{w.a, w.b} {
				for _, id := range slices.Sorted(maps.Keys(p.up)) {
					if w.r.IntN(3) != i { // a third by each side alone, a third by both
						if err := p.m.Disconnect(w.now, id); err != nil {
							t.Fatal(err)
						}
					}
				}
				p.pump()
			}
			w.run(w.now + 40*Second)
			w.finish()
		})
	}
}

// finish ends what is left, and expects that nothing is.
func (w *world) finish() {
	w.t.Helper()
	for _, p := range []*player{w.a, w.b} {
		for _, id := range slices.Sorted(maps.Keys(p.up)) {
			if !p.down[id] {
				// The peer's farewell was lost for good, or nobody said one.
				_ = p.m.Disconnect(w.now, id)
			}
		}
		p.pump()
	}
	w.run(w.now + 20*Second)
	for _, p := range []*player{w.a, w.b} {
		if len(p.down) != len(p.up) || p.m.Len() != 0 || p.m.HalfOpen() != 0 || p.m.Timeout() != Never {
			w.t.Fatalf("%v: %d up, %d down, %d connections left", p.addr, len(p.up), len(p.down), p.m.Len())
		}
	}
}
