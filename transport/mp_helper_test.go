package transport

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/braid-rdma/braid/wire"
)

const (
	mpMTU = 256
	// mpRTT is the round trip of the scripted peer.
	mpRTT = 20 * Microsecond
	mpPD  = PD(7)
	// Tests number packets from zero. The PSNs behind the numbers wrap after a
	// few of them, so that every test also crosses the wrap.
	mpFirst   = wire.PSN(0xfffff6)
	peerFirst = wire.PSN(0xfffffb)
)

// mpMemory adds the storing of atomic results to the memory of the tests.
type mpMemory struct{ *testMemory }

func (mpMemory) Store(s Span, value uint64) { binary.NativeEndian.PutUint64(s.Bytes(), value) }

// mpTest is one MP queue pair whose peer is the test itself: the test posts
// work, says what was sent, builds every acknowledgement and moves the clock.
// Whatever the queue pair sends is noted and must be wanted.
type mpTest struct {
	t        *testing.T
	mp       *MP
	now      Time
	mem      mpMemory
	local    *Region         // memory of the queue pair's own requests
	exposed  *Region         // memory that the peer may access
	sent     map[int]Packet  // the latest transmission of each packet
	unwanted []Packet        // sent and not yet asked for
	peerHas  map[int]bool    // what the scripted peer has received
	peerNext [numStreams]int // the peer's rcv_nxt
	posted   uint64
}

// newMPTest makes a connected queue pair with the paper's options as edited,
// without random probes unless the edit asks for them.
func newMPTest(t *testing.T, edit func(*MPOptions)) *mpTest {
	t.Helper()
	o := PaperOptions()
	o.ProbeProbability, o.InitialWindow = 0, 4
	if edit != nil {
		edit(&o)
	}
	return newMPTestWith(t, o, mpAttr())
}

func mpAttr() Attr {
	return Attr{
		MTU: mpMTU, RemoteQPN: 0x22, SendPSN: mpFirst, RecvPSN: peerFirst, Reads: 4, ReadsServed: 4,
		Timeout: 14, RetryCount: 7, RNRRetry: 7, MinRNRTimer: 12, Paths: 16,
	}
}

func newMPTestWith(t *testing.T, o MPOptions, attr Attr) *mpTest {
	t.Helper()
	mem := mpMemory{newTestMemory()}
	q := &mpTest{
		t: t, mem: mem, now: Second, sent: map[int]Packet{}, peerHas: map[int]bool{},
		local:   mem.register(mpPD, 1<<20, LocalWrite),
		exposed: mem.register(mpPD, 1<<20, LocalWrite|RemoteWrite|RemoteRead|RemoteAtomic),
	}
	q.mp = connectMP(t, q.now, mpConfig(mem, o, 1), attr)
	return q
}

func mpConfig(mem Memory, o MPOptions, seed uint64) Config {
	return Config{
		Number: 0x11, PD: mpPD, SendDepth: 4096, RecvDepth: 256, MaxSendSGE: 4, MaxRecvSGE: 4, MaxInline: 64,
		Memory: mem, Rand: rand.New(rand.NewPCG(seed, 2)), MP: o,
	}
}

func connectMP(t testing.TB, now Time, cfg Config, attr Attr) *MP {
	t.Helper()
	m, err := NewMP(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, to := range []State{Init, RTR, RTS} {
		if err := m.Modify(now, to, &attr); err != nil {
			t.Fatalf("to %v: %v", to, err)
		}
	}
	return m
}

// --- posting ---

// post gives the request the next identity and asks for a completion.
func (q *mpTest) post(wr SendWR) uint64 {
	q.t.Helper()
	q.posted++
	wr.ID, wr.Flags = q.posted, wr.Flags|Signaled
	if err := q.mp.PostSend(q.now, &wr); err != nil {
		q.t.Fatalf("post %v: %v", wr.Op, err)
	}
	q.drain()
	return wr.ID
}

// write posts a WRITE of that many full packets.
func (q *mpTest) write(packets int, flags ...SendFlags) uint64 {
	q.t.Helper()
	wr := SendWR{Op: OpWrite, SGEs: []SGE{q.local.span(0, packets*mpMTU)}, RemoteAddr: 0x10000, RKey: 0x99}
	for _, f := range flags {
		wr.Flags |= f
	}
	return q.post(wr)
}

// --- the clock ---

// until moves the clock and runs every timer on the way at its own time.
func (q *mpTest) until(to Time) {
	q.t.Helper()
	for q.mp.Timeout() <= to {
		q.now = max(q.now, q.mp.Timeout())
		q.mp.HandleTimeout(q.now)
		q.drain()
	}
	q.now = max(q.now, to)
}

func (q *mpTest) advance(d Time) { q.t.Helper(); q.until(q.now + d) }

// advanceToTimer moves the clock to the next deadline and returns how far that was.
func (q *mpTest) advanceToTimer() Time {
	q.t.Helper()
	at := q.mp.Timeout()
	if at == Never {
		q.t.Fatal("no timer is armed")
	}
	from := q.now
	q.now = max(q.now, at)
	q.mp.HandleTimeout(q.now)
	q.drain()
	return q.now - from
}

// --- what it sends ---

// drain takes everything that the queue pair wants to send, and checks what
// must hold at any time.
func (q *mpTest) drain() {
	q.t.Helper()
	var p Packet
	for range 1 << 14 {
		if !q.mp.PollTransmit(q.now, &p) {
			q.checkInvariants()
			return
		}
		c := p
		c.Spans = slices.Clone(p.Spans)
		if isStreamData(p.Opcode) {
			q.sent[q.numberOf(&p)] = c
		}
		q.unwanted = append(q.unwanted, c)
	}
	q.t.Fatal("PollTransmit never ends")
}

// number is the test's number of a PSN of the queue pair's own stream of requests.
func (q *mpTest) number(p wire.PSN) int { return p.Sub(mpFirst) }

// firstResponse is what tests add to the numbers of responses, which have PSNs of
// their own.
const firstResponse = 1 << 20

// mpResponse is the test's number of the n-th packet of the stream of responses.
func mpResponse(n int) int { return firstResponse + n }

func (q *mpTest) numberOf(p *Packet) int {
	if streamOf(p.Opcode.Base()) == responses {
		return mpResponse(q.number(p.PSN))
	}
	return q.number(p.PSN)
}

func streamOfNumber(n int) streamID {
	if n >= firstResponse {
		return responses
	}
	return requests
}

// checkInvariants holds after every step of every test.
func (q *mpTest) checkInvariants() {
	q.t.Helper()
	m := q.mp
	if !m.state.sends() {
		return
	}
	if m.out[requests].una < m.out[requests].nxt && m.Timeout() == Never {
		q.t.Fatal("packets are outstanding and no timer is armed")
	}
	if m.out[requests].una > m.out[requests].nxt || m.out[requests].nxt > m.out[requests].end {
		q.t.Fatalf("order of snd_una, snd_nxt, end: %d %d %d", m.out[requests].una, m.out[requests].nxt, m.out[requests].end)
	}
	if f := m.loss.inFlight(); f < 0 || m.opt.Selective && f > int(m.out[requests].nxt-m.out[requests].una) {
		q.t.Fatalf("in flight %d of %d", f, m.out[requests].nxt-m.out[requests].una)
	}
	if c := m.count; m.opt.Selective && c.PacketsSent != c.Acknowledged+c.Lost+uint64(m.loss.inFlight()) {
		q.t.Fatalf("sent %d is not acknowledged %d + lost %d + in flight %d", c.PacketsSent, c.Acknowledged, c.Lost, m.loss.inFlight())
	}
}

// wantSent checks that exactly these packets were sent since the last call,
// in this order, and returns them.
func (q *mpTest) wantSent(why string, want ...int) []Packet {
	q.t.Helper()
	q.drain()
	var got []int
	for _, p := range q.unwanted {
		if !isStreamData(p.Opcode) {
			q.t.Fatalf("%s: sent %v, want data %v", why, p.Opcode, want)
		}
		got = append(got, q.number(p.PSN))
	}
	if !slices.Equal(got, want) {
		q.t.Fatalf("%s: sent %v, want %v", why, got, want)
	}
	sent := q.unwanted
	q.unwanted = nil
	return sent
}

// wantIdle checks that nothing was sent.
func (q *mpTest) wantIdle(why string) { q.t.Helper(); q.wantSent(why) }

// --- what it reports ---

// wantDone checks that exactly these requests completed, well and in this order.
func (q *mpTest) wantDone(why string, want ...uint64) {
	q.t.Helper()
	var got []uint64
	for _, c := range q.completions() {
		if c.Status != Success {
			q.t.Fatalf("%s: request %d completed with %v", why, c.WRID, c.Status)
		}
		got = append(got, c.WRID)
	}
	if !slices.Equal(got, want) {
		q.t.Fatalf("%s: completed %v, want %v", why, got, want)
	}
}

func (q *mpTest) completions() []Completion {
	var all []Completion
	for c := (Completion{}); q.mp.PollCompletion(&c); {
		all = append(all, c)
	}
	return all
}

// wantEvents checks the asynchronous events since the last call.
func (q *mpTest) wantEvents(why string, want ...EventKind) {
	q.t.Helper()
	var got []EventKind
	for e := (Event{}); q.mp.PollEvent(&e); {
		got = append(got, e.Kind)
	}
	if !slices.Equal(got, want) {
		q.t.Fatalf("%s: events %v, want %v", why, got, want)
	}
}

// wantWindow checks cwnd.
func (q *mpTest) wantWindow(why string, want float64) {
	q.t.Helper()
	if got := q.mp.gate.control.Window(); got < want-1e-9 || got > want+1e-9 {
		q.t.Fatalf("%s: cwnd %v, want %v", why, got, want)
	}
}
