package transport

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/braid-rdma/braid/internal/seeds"
	"github.com/braid-rdma/braid/wire"
)

// hostileScenario is everything that a run depends on.
type hostileScenario struct {
	seed     uint64
	rc       bool   // the liar's connection
	honest   []bool // the clients' connections: RC, else MP
	options  MPOptions
	lies     []*lie
	interval Time
	burst    int
	truth    float64
	withhold bool
	asks     bool // the device READs from the liar too
	length   Time // how long it lasts
}

// How long runs last. Some are long, for what needs several timeouts; more seeds find more in the same time.
const longHostility, shortHostility = 5 * Millisecond, 2 * Millisecond

// liesTo lists what a kind of queue pair is to withstand.
func liesTo(rc bool) (list []*lie) {
	for _, l := range lies {
		if rc && l.rc || !rc && l.mp {
			list = append(list, l)
		}
	}
	return list
}

// newHostileScenario is the scenario of a seed.
func newHostileScenario(seed uint64) *hostileScenario {
	r := rand.New(rand.NewPCG(seed, 0x6c696172))
	s := &hostileScenario{seed: seed, rc: chance(r, 0.4), options: WireOptions(), truth: oneOf(r, 0, 0.5, 1), withhold: chance(r, 0.5), asks: chance(r, 0.3)}
	if chance(r, 0.4) {
		s.options = PaperOptions()
	}
	for range 1 + r.IntN(3) {
		s.honest = append(s.honest, chance(r, 0.5))
	}
	all := liesTo(s.rc)
	for range 1 + r.IntN(3) {
		s.lies = append(s.lies, oneOf(r, all...))
	}
	s.length = oneOf(r, longHostility, shortHostility, shortHostility, shortHostility, shortHostility)
	// Two million packets a second, one by one or in bursts.
	s.burst = oneOf(r, 1, 1, 16, 64)
	s.interval = Time(s.burst) * 500 * Nanosecond
	return s
}

func (s *hostileScenario) String() string {
	kind := "MP"
	if s.rc {
		kind = "RC"
	}
	names := make([]string, len(s.lies))
	for i, l := range s.lies {
		names[i] = l.name
	}
	return fmt.Sprintf("a liar over %s that %s; truth %v, withholds the head %v, bursts of %d, L %d, honest RC %v, asked %v",
		kind, strings.Join(names, ", "), s.truth, s.withhold, s.burst, s.options.Slots, s.honest, s.asks)
}

// newQP makes one end of a connection.
func (s *hostileScenario) newQP(w *hostileWorld, rc bool, number wire.QPN, attr Attr, m Memory, srq *ReceiveQueue) QP {
	cfg := Config{
		Number: number, PD: 1, SendDepth: 16, RecvDepth: 16, MaxSendSGE: 1, MaxRecvSGE: 1, Memory: m, Recv: srq,
		Rand: rand.New(rand.NewPCG(s.seed, uint64(number))), MP: s.options,
	}
	var qp QP
	var err error
	if rc {
		qp, err = NewRC(cfg)
	} else {
		qp, err = NewMP(cfg)
	}
	for _, to := range []State{Init, RTR, RTS} {
		if err == nil {
			err = qp.Modify(w.now, to, &attr)
		}
	}
	if err != nil {
		w.fail("%v", err)
	}
	return qp
}

func (s *hostileScenario) attr(remote wire.QPN, send, receive wire.PSN) Attr {
	return Attr{
		MTU: hostileMTU, RemoteQPN: remote, SendPSN: send, RecvPSN: receive, Reads: 4, ReadsServed: 4, Timeout: 10, RetryCount: 7,
		RNRRetry: InfiniteRNRRetry, MinRNRTimer: 1, Paths: hostilePaths, TrackedSlots: s.options.Slots,
	}
}

// newHostileWorld sets up a run, with or without the liar.
func newHostileWorld(s *hostileScenario, withLiar bool) *hostileWorld {
	w := &hostileWorld{rng: rand.New(rand.NewPCG(s.seed, 1)), now: Second, length: s.length}
	d := newDevice(w)
	w.device = d
	d.open = d.memory.register(1, 1<<16, LocalWrite|RemoteWrite|RemoteRead)
	d.sink = d.memory.register(1, 4096, LocalWrite)
	for i, rc := range s.honest {
		w.addClient(s, i, rc)
	}
	if withLiar {
		w.addLiar(s)
	}
	return w
}

func (w *hostileWorld) addClient(s *hostileScenario, i int, rc bool) {
	d, m := w.device, newTestMemory()
	near, far := wire.QPN(0x200+i), wire.QPN(0x100+i)
	a, b := randomPSN(w.rng), randomPSN(w.rng)
	c := &client{w: w, number: i, memory: m}
	c.window = d.memory.register(1, clientWrite, LocalWrite|RemoteWrite|RemoteRead)
	c.cell = d.memory.register(1, 8, LocalWrite|RemoteAtomic)
	c.local, c.inbox = m.register(1, clientWrite+8, LocalWrite), m.register(1, clientReply, LocalWrite)
	c.pattern = m.register(1, 0, 0)
	c.pattern.Bytes, c.pattern.Length = harnessPattern, uint64(len(harnessPattern))
	c.near = &port{w: w, name: fmt.Sprintf("client %d", i), qp: s.newQP(w, rc, near, s.attr(far, a, b), m, nil), done: c.report}
	c.far = &port{w: w, name: fmt.Sprintf("the device's end for client %d", i), qp: s.newQP(w, rc, far, s.attr(near, b, a), d.memory, d.srq), device: d}
	c.far.done = func(x *Completion) { d.completed(c.far, x) }
	c.near.send = func(l *letter) {
		l.to = c.far
		w.carry(l, d.receiver)
	}
	take := func(l *letter) {
		c.near.handle(l)
		c.near.serve()
	}
	c.far.send = func(l *letter) { w.carry(l, take) }
	d.clients[far] = c
	d.ports = append(d.ports, c.far)
	w.clients = append(w.clients, c)
	w.at(w.now+Time(i)*Microsecond, c.next)
}

func (w *hostileWorld) addLiar(s *hostileScenario) {
	d := w.device
	a, b := randomPSN(w.rng), randomPSN(w.rng)
	l := &liar{
		w: w, rng: rand.New(rand.NewPCG(s.seed, 2)), rc: s.rc, slots: s.options.Slots, lies: s.lies, interval: s.interval, burst: s.burst,
		truth: s.truth, withhold: s.withhold, psn: a, first: a, expected: b, taken: b,
	}
	w.liar = l
	d.guarded = &deviceMemory{testMemory: d.memory, wrong: map[wire.RKey]bool{}}
	p := &port{w: w, name: "the device's end for the liar", qp: s.newQP(w, s.rc, 0x300, s.attr(0x400, b, a), d.guarded, d.srq), device: d}
	p.done = func(c *Completion) { d.completed(p, c) }
	receive := l.receive
	p.send = func(x *letter) { w.carry(x, receive) }
	d.hostile = p
	d.ports = append(d.ports, p)
	w.at(w.now+2*Microsecond, l.tell)
	var program func()
	program = func() {
		// A full queue, or one in error, is as good.
		_ = p.qp.PostSend(w.now, &SendWR{Op: OpSend, SGEs: []SGE{d.open.span(0, 64)}})
		if s.asks {
			_ = p.qp.PostSend(w.now, &SendWR{Op: OpRead, SGEs: []SGE{d.sink.span(0, 2000)}, RKey: 1, RemoteAddr: 4096})
		}
		d.wake()
		w.at(w.now+50*Microsecond, program)
	}
	w.at(w.now+Microsecond, program)
}

// guard turns the panic of a check that failed into an error.
func (w *hostileWorld) guard(f func()) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case promiseBroken:
			err = fmt.Errorf("%s", r.message)
		default:
			err = fmt.Errorf("at %v: panic: %v\n%s", w.now, r, debug.Stack())
		}
	}()
	f()
	return nil
}

// run lets the world go on for its time and returns the rounds that the clients
// completed, or the promise that was broken.
func (w *hostileWorld) run() (rounds int, err error) {
	err = w.guard(func() { rounds = w.runChecked() })
	return rounds, err
}

func (w *hostileWorld) runChecked() (rounds int) {
	w.runUntil(Second + w.length)
	for _, c := range w.clients {
		rounds += c.rounds
		for _, p := range []*port{c.near, c.far} {
			if p.qp.State() != RTS {
				w.fail("%s is in %v", p.name, p.qp.State())
			}
			if n := heldState(p.qp); n > maxHeldState {
				w.fail("%s keeps %d entries", p.name, n)
			}
		}
	}
	w.device.allReturned()
	return rounds
}

// runHostile runs a scenario with the liar and without.
func runHostile(s *hostileScenario) error { return runHostilePlanted(s, nil) }

// runHostilePlanted is runHostile with a bug in the world that has the liar.
func runHostilePlanted(s *hostileScenario, plant func(w *hostileWorld)) error {
	alone, err := newHostileWorld(s, false).run()
	if err != nil {
		return fmt.Errorf("without the liar: %w", err)
	}
	w := newHostileWorld(s, true)
	if plant != nil {
		plant(w)
	}
	rounds, err := w.run()
	if err != nil {
		return err
	}
	if alone < 10 || 10*rounds < 9*alone {
		return fmt.Errorf("the honest peers had %d rounds, without the liar %d (%d lies told, %d packets lost, the liar's end in %v)",
			rounds, alone, w.liar.told, w.device.lost, w.device.hostile.qp.State())
	}
	return nil
}

// TestHostile lets liars of many seeds loose on a device that serves honest
// peers: BRAID_SEEDS of them, from BRAID_SEED_BASE on.
func TestHostile(t *testing.T) {
	t.Parallel()
	usual := uint64(50)
	if testing.Short() {
		usual = 15
	}
	base, count := seeds.Range(t, usual)
	failures := 0
	for seed := base; seed < base+count && failures < 10; seed++ {
		s := newHostileScenario(seed)
		if err := runHostile(s); err != nil {
			failures++
			t.Errorf("seed %d, %v: %v\nreplay: BRAID_SEED=%d go test ./transport -run 'TestHostileSeed$' -v", seed, s, err, seed)
		}
	}
}

// TestHostileSeed replays the one seed that BRAID_SEED names.
func TestHostileSeed(t *testing.T) {
	if os.Getenv("BRAID_SEED") == "" {
		t.Skip("BRAID_SEED names no seed")
	}
	s := newHostileScenario(seeds.Number(t, "BRAID_SEED", 0))
	t.Log(s)
	if err := runHostile(s); err != nil {
		t.Fatal(err)
	}
}

// TestHostileLies tells each lie alone, with and without the head of the stream.
func TestHostileLies(t *testing.T) {
	for _, kind := range []struct {
		name string
		rc   bool
	}{{"RC", true}, {"MP", false}} {
		for _, l := range liesTo(kind.rc) {
			t.Run(kind.name+"/"+l.name, func(t *testing.T) {
				t.Parallel()
				for _, withhold := range []bool{false, true} {
					s := &hostileScenario{
						seed: 1, rc: kind.rc, honest: []bool{true, false}, options: WireOptions(), lies: []*lie{l},
						interval: 32 * Microsecond, burst: 64, truth: 1, withhold: withhold, asks: true, length: longHostility,
					}
					if err := runHostile(s); err != nil {
						t.Errorf("withholds the head %v: %v", withhold, err)
					}
				}
			})
		}
	}
}
