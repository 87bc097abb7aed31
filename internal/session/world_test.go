package session

import (
	"container/heap"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/braid-rdma/braid/internal/seeds"
)

// world is two sessions in virtual time, with a program on each side. A lane
// delivers frames in order, as a queue pair does; a frame that finds no receive posted is
// what must never happen. All of it is a function of the seed.
type world struct {
	t       *testing.T
	r       *rand.Rand
	now     time.Duration
	ends    [2]*end
	flying  flights
	ordinal int
	bundle  int

	fragment int
}

// end is a session and the program that uses it.
type end struct {
	w        *world
	s        *Session
	peer     *end
	name     string
	receives int           // posted, and not yet filled
	buffers  int           // that the program may hold beside them
	clear    time.Duration // when the lane to the peer is free

	stalledUntil  time.Duration // the program, and whoever polls for it, does nothing
	putOff        bool          // the last turn has left the rest to the next
	toSend        int
	sent, arrived map[uint64]bool // one-way messages and calls, by number
	lastOneway    uint64
	number        uint64
	waiting       []*In // delivered, not taken
	open          map[uint32]uint64
	responses     int
	acked         int
	outs          int
	freed         map[*Out]bool // whose memory may be used again
	large         map[sourceOf]*Out
}

// sourceOf names a large message: a response has the number of its call, which is the peer's.
type sourceOf struct {
	number   uint64
	response bool
}

type flight struct {
	at      time.Duration
	ordinal int
	do      func()
}

type flights []flight

func (f flights) Len() int { return len(f) }
func (f flights) Less(i, j int) bool {
	return f[i].at < f[j].at || f[i].at == f[j].at && f[i].ordinal < f[j].ordinal
}
func (f flights) Swap(i, j int) { f[i], f[j] = f[j], f[i] }
func (f *flights) Push(x any)   { *f = append(*f, x.(flight)) }
func (f *flights) Pop() any {
	last := len(*f) - 1
	x := (*f)[last]
	*f = (*f)[:last]
	return x
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{t: t, r: rand.New(rand.NewPCG(seed, 7)), now: 1}
	cfg := Config{
		MinWindow: 1 + w.r.IntN(4), MaxWindow: 4 << w.r.IntN(5), MaxCalls: 1 << w.r.IntN(8),
		AckEvery: 1 + w.r.IntN(16), Epoch: time.Duration(w.r.Int64N(1 << 60)),
	}
	w.fragment = 1024 + w.r.IntN(1<<16)
	if w.r.IntN(3) > 0 {
		w.bundle = 1 + w.r.IntN(4096)
	}
	for i := range w.ends {
		w.ends[i] = &end{
			w: w, s: New(cfg), name: string(rune('A' + i)), toSend: w.r.IntN(200), buffers: w.r.IntN(8),
			freed: map[*Out]bool{}, large: map[sourceOf]*Out{}, sent: map[uint64]bool{}, arrived: map[uint64]bool{}, open: map[uint32]uint64{},
		}
	}
	w.ends[0].peer, w.ends[1].peer = w.ends[1], w.ends[0]
	for _, e := range w.ends {
		e.post()
	}
	for _, e := range w.ends {
		e.s.Grant(e.peer.s.Granted())
		e.s.Bundle(w.bundle)
	}
	return w
}

func (w *world) after(d time.Duration, do func()) { w.at(w.now+d, do) }

func (w *world) at(t time.Duration, do func()) {
	w.ordinal++
	heap.Push(&w.flying, flight{t, w.ordinal, do})
}

func (w *world) short() time.Duration {
	return time.Duration(w.r.Int64N(int64(100 * time.Microsecond)))
}

// post posts the receives that the session wants.
func (e *end) post() {
	if n := e.s.Wanted(); n > 0 {
		e.receives += n
		e.s.Posted(n)
	}
}

// content is the number of a message, in its payload or in the address of its source.
func content(m *In) uint64 {
	if m.Large() {
		return m.Source.Addr
	}
	return binary.BigEndian.Uint64(m.Payload)
}

// sendSome lets the program send what it wants to.
func (e *end) sendSome() {
	for range e.w.r.IntN(8) {
		if e.toSend == 0 {
			return
		}
		e.toSend--
		e.number++
		m := &Out{Kind: Oneway, Length: 8 + e.w.r.IntN(64)}
		if e.w.r.IntN(2) == 0 {
			m.Kind = Request
		}
		e.dispatch(m, e.number)
		e.sent[e.number] = true
		if m.Kind == Request {
			e.open[m.Call] = e.number
		}
	}
}

func (e *end) dispatch(m *Out, number uint64) {
	if e.w.r.IntN(5) == 0 {
		m.Large, m.Length, m.Source.Addr = true, e.w.r.IntN(1<<20), number
	}
	m.Ref = number
	if e.w.r.IntN(4) == 0 {
		m.Trace = &Trace{Offset: time.Duration(number)}
	}
	if m.Large {
		e.large[sourceOf{number, m.Kind.IsResponse()}] = m
	}
	e.outs++
	e.s.Send(e.w.now, m)
}

// take lets the program receive some of what was delivered.
func (e *end) take() {
	for len(e.waiting) > 0 && e.w.r.IntN(4) > 0 {
		m := e.waiting[0]
		e.waiting = e.waiting[1:]
		e.s.Taken(e.w.now, m)
		if m.Kind == Request {
			kind := Response
			if e.w.r.IntN(8) == 0 {
				kind = Failure
			}
			e.dispatch(&Out{Kind: kind, Call: m.Call, Length: 8}, content(m))
		}
	}
}

// deliver checks a message for the program.
func (e *end) deliver(m *In) {
	if m.Length > 0 && !m.Complete() {
		e.w.t.Fatalf("%s: a message is delivered before all of it is here", e.name)
	}
	n := content(m)
	switch m.Kind {
	case Oneway, Request:
		if e.arrived[n] || !e.peer.sent[n] {
			e.w.t.Fatalf("%s: message %d arrives again, or was never sent", e.name, n)
		}
		e.arrived[n] = true
		if m.Kind == Oneway {
			if n < e.lastOneway {
				e.w.t.Fatalf("%s: message %d arrives after %d", e.name, n, e.lastOneway)
			}
			e.lastOneway = n
		}
	case Response, Failure:
		if e.open[m.Call] != n {
			e.w.t.Fatalf("%s: call %d gets the response to %d", e.name, m.Call, n)
		}
		delete(e.open, m.Call)
		e.responses++
	}
	e.waiting = append(e.waiting, m)
	if held := e.s.rx.held; held > e.s.cfg.MaxWindow {
		e.w.t.Fatalf("%s: %d messages wait for the program, the window is %d", e.name, held, e.s.cfg.MaxWindow)
	}
}

// pump does what the driver of a session does.
func (e *end) pump() {
	if e.w.now < e.stalledUntil {
		return
	}
	for {
		m, ok := e.s.PollDelivery()
		if !ok {
			break
		}
		e.deliver(m)
	}
	for m, ok := e.s.PollAcked(); ok; m, ok = e.s.PollAcked() {
		e.acked++
		e.freed[m] = true
	}
	for m, ok := e.s.PollRead(); ok; m, ok = e.s.PollRead() {
		e.freed[m] = true
	}
	for f, ok := e.s.PollFetch(e.w.fragment); ok; f, ok = e.s.PollFetch(e.w.fragment) {
		e.w.after(e.w.short(), func() {
			if m := e.peer.large[sourceOf{f.Message.Source.Addr, f.Message.Kind.IsResponse()}]; e.peer.freed[m] {
				e.w.t.Fatalf("%s: message %v is read after its memory was given back", e.name, m.Ref)
			}
			e.s.Fetched(f.Message, f.Length)
			e.pump()
		})
	}
	if e.s.Pressed() || e.w.r.IntN(2) == 0 {
		e.post()
	}
	e.launchAll()
	if !e.putOff && e.w.r.IntN(4) == 0 {
		e.putOff = true // until the next turn, or whoever stands by looks
		e.w.after(time.Duration(e.w.r.Int64N(int64(5*time.Millisecond))), e.pump)
	} else {
		e.putOff = false
		e.post()
		e.launchAll() // what waited for receives
	}
	if n := e.s.tx.responses.Len(); n > 0 {
		e.w.t.Fatalf("%s: %d responses wait", e.name, n)
	}
}

func (e *end) launchAll() {
	for f, ok := e.s.PollFrame(e.w.now, nil); ok; f, ok = e.s.PollFrame(e.w.now, nil) {
		e.launch(f)
	}
}

// encoded is a frame as it travels.
func encoded(f Frame) []byte {
	b := f.Header
	if len(f.More) > 0 {
		b = AppendEntry(b, f.Message)
	}
	b = appendPayload(b, f.Message)
	for _, m := range f.More {
		b = appendPayload(AppendEntry(b, m), m)
	}
	return b
}

// appendPayload adds the number of a small message, and as many bytes as it has.
func appendPayload(b []byte, m *Out) []byte {
	if m == nil || m.Large {
		return b
	}
	b = binary.BigEndian.AppendUint64(b, m.Ref.(uint64))
	return append(b, make([]byte, m.Length-8)...)
}

// launch sends a frame. It lands at the peer's queue pair whether or not the program there is
// awake; but a receive must be posted.
func (e *end) launch(f Frame) {
	b, messages := encoded(f), append([]*Out{f.Message}, f.More...)
	if len(f.More) > 0 && len(b) > e.w.bundle {
		e.w.t.Fatalf("%s: a bundle of %d bytes, the peer takes %d", e.name, len(b), e.w.bundle)
	}
	e.clear = max(e.clear, e.w.now+e.w.short())
	e.w.at(e.clear, func() {
		p := e.peer
		if p.receives--; p.receives < 0 {
			e.w.t.Fatalf("%s: a frame finds no receive (RNR)", p.name)
		}
		handle := func() {
			in := &In{}
			some, err := p.s.Arrived(e.w.now, f.Immediate, b, in)
			for i := 0; some && err == nil; i++ {
				p.checkTrace(messages[i], in)
				in = &In{}
				some, err = p.s.Next(in)
			}
			if err != nil {
				e.w.t.Fatalf("%s: %v", p.name, err)
			}
			p.pump()
		}
		if e.w.now < p.stalledUntil {
			e.w.at(p.stalledUntil, handle)
			return
		}
		handle()
	})
}

// checkTrace checks that a message is traced if its sender wanted it, by the sender's clock.
func (e *end) checkTrace(sent *Out, m *In) {
	switch {
	case sent == nil || sent.Trace == nil:
		if m.Trace != nil {
			e.w.t.Fatalf("%s: a trace that was not sent", e.name)
		}
	case m.Trace == nil || m.Trace.Posted != sent.SentAt+e.s.cfg.Epoch || !m.Kind.IsResponse() && m.Trace.Offset != sent.Trace.Offset:
		e.w.t.Fatalf("%s: message %v has the trace %+v, want %+v", e.name, sent.Ref, m.Trace, sent.Trace)
	}
}

// live is one moment of a program.
func (e *end) live() {
	if e.w.now >= e.stalledUntil {
		switch e.w.r.IntN(400) {
		case 0:
			e.stalledUntil = e.w.now + time.Duration(e.w.r.IntN(300))*time.Millisecond
			e.w.at(e.stalledUntil, e.pump)
		case 1, 2, 3, 4, 5, 6, 7, 8:
			e.s.AskForAck()
		}
		e.sendSome()
		e.take()
		e.pump()
	}
	if !e.idle() || !e.peer.idle() {
		e.w.at(max(e.w.now, e.stalledUntil)+e.w.short(), e.live)
	}
}

func (e *end) idle() bool {
	return e.toSend == 0 && len(e.waiting) == 0 && e.s.Unacknowledged()+e.s.Queued() == 0
}

// run lets everything happen until nothing is left to do, or too late.
func (w *world) run() {
	for _, e := range w.ends {
		w.after(w.short(), e.live)
	}
	for steps := 0; ; steps++ {
		if w.ends[0].idle() && w.ends[1].idle() && len(w.flying) == 0 {
			return
		}
		if w.now > 10*time.Minute || steps > 1e6 {
			for _, e := range w.ends {
				w.t.Errorf("%s: %d to send, %d queued, %d unacknowledged, %d not taken, %d receives; %s", e.name, e.toSend, e.s.Queued(), e.s.Unacknowledged(), len(e.waiting), e.receives, e.s.Describe())
			}
			w.t.Fatalf("nothing goes on at %v after %d steps", w.now, steps)
		}
		next := min(w.ends[0].s.Timeout(), w.ends[1].s.Timeout())
		if len(w.flying) > 0 && w.flying[0].at <= next {
			f := heap.Pop(&w.flying).(flight)
			w.now = max(w.now, f.at)
			f.do()
			continue
		}
		w.now = max(w.now, next)
		for _, e := range w.ends {
			e.s.HandleTimeout(w.now)
			e.pump()
		}
	}
}

// TestSeeds: two programs that send, call, receive slowly and stand still at any moment:
// each message arrives once, one-way ones in order, each call has its response, all
// is acknowledged in the end, and no frame ever finds the receive queue empty.
func TestSeeds(t *testing.T) {
	first, count := seeds.Range(t, 400)
	for seed := first; seed < first+count; seed++ {
		if !t.Run(fmt.Sprintf("seed%d", seed), func(t *testing.T) {
			seeds.SayReplay(t, seed, "./internal/session")
			w := newWorld(t, seed)
			w.run()
			for _, e := range w.ends {
				if len(e.arrived) != len(e.peer.sent) || len(e.open) > 0 || e.acked != e.outs {
					t.Fatalf("%s: %d of %d messages arrived, %d calls are open, %d of %d acknowledged",
						e.name, len(e.arrived), len(e.peer.sent), len(e.open), e.acked, e.outs)
				}
			}
		}) {
			return
		}
	}
}
