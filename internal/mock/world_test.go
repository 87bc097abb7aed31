package mock

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/braid-rdma/braid/internal/seeds"
)

// world is two sides of a channel, a network that fails and heals, and TCP that does so too. Both sides send
// packets all the time, by what carries them, and look whether any come.
type world struct {
	rng      *rand.Rand
	now      time.Duration
	events   eventHeap
	steps    int
	patience time.Duration
	sides    [2]*side
	udp      [2]bool       // by sender: its packets arrive
	tcp      bool          // connections are opened and carry
	reached  time.Duration // since when the sides could reach each other; Never: they cannot
	failure  error
	plant    func(*Action) bool // a bug: actions that are not done
	log      func(format string, args ...any)
}

// side is one end with its queue pair.
type side struct {
	w         *world
	number    int
	m         *Machine
	way       *connEnd // nil: UDP
	arrivedAt time.Duration
	divertAt  time.Duration
	attempt   *attempt
	commands  int // that have no reply
	moves     int
	wantsUDP  bool // by command
	timerAt   time.Duration
	endsOwned map[*connEnd]bool // that the machine has, and whether they are in use
}

type event struct {
	at    time.Duration
	order int
	f     func()
}

type eventHeap []event

func (h eventHeap) Len() int { return len(h) }
func (h eventHeap) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].order < h[j].order
}
func (h eventHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *eventHeap) Push(x any)   { *h = append(*h, x.(event)) }
func (h *eventHeap) Pop() any {
	old := *h
	e := old[len(old)-1]
	*h = old[:len(old)-1]
	return e
}

func newWorld(seed uint64) *world {
	w := &world{rng: rand.New(rand.NewPCG(seed, 0x6d6f636b)), udp: [2]bool{true, true}, tcp: true, log: func(string, ...any) {}}
	w.patience = []time.Duration{500 * time.Millisecond, 4300 * time.Millisecond, 20 * time.Second}[w.rng.IntN(3)]
	for i := range w.sides {
		w.sides[i] = &side{w: w, number: i, m: New(i == 0, w.patience), timerAt: Never, endsOwned: map[*connEnd]bool{}}
	}
	for _, s := range w.sides {
		w.after(w.delay(), s.send)
		w.after(w.patience/8, s.look)
	}
	return w
}

func (w *world) after(d time.Duration, f func()) {
	w.steps++
	heap.Push(&w.events, event{w.now + d, w.steps, f})
}

// delay is that of a packet, a connection or a goroutine.
func (w *world) delay() time.Duration {
	return time.Duration(1+w.rng.IntN(20_000)) * time.Microsecond
}

func (w *world) fail(format string, args ...any) {
	if w.failure == nil {
		w.failure = fmt.Errorf("at %v: %s", w.now, fmt.Sprintf(format, args...))
	}
}

// runUntil lets things happen up to a time.
func (w *world) runUntil(t time.Duration) {
	for len(w.events) > 0 && w.events[0].at <= t && w.failure == nil {
		e := heap.Pop(&w.events).(event)
		w.now = e.at
		e.f()
		for _, s := range w.sides {
			s.pump()
		}
	}
	w.now = t
}

func (s *side) peer() *side { return s.w.sides[1-s.number] }

// send is a packet, or an acknowledgement, of the queue pair.
func (s *side) send() {
	w, to := s.w, s.peer()
	arrives := w.udp[s.number]
	if s.way != nil {
		arrives = s.way.carries()
	}
	if arrives {
		w.after(w.delay(), func() { to.arrivedAt = w.now })
	}
	w.after(w.patience/20, s.send)
}

// look is what the engine does with the timeouts of a queue pair: it tells of silence, as often as an ACK timeout passes
// by the same way.
func (s *side) look() {
	w := s.w
	if silent := w.now - max(s.arrivedAt, s.divertAt); silent >= w.patience/8 {
		w.log("%v side %d receives nothing for %v", w.now, s.number, silent)
		s.m.Silent(w.now)
	}
	if w.now-max(s.arrivedAt, w.reached) > w.patience {
		w.fail("side %d has received nothing for %v, its patience, though %s", s.number, w.patience, w)
	}
	w.after(w.patience/8, s.look)
}

// changed notes whether the sides, as they are commanded, can reach each other.
func (w *world) changed() {
	can := w.udp[0] && w.udp[1] || w.tcp && !w.sides[0].wantsUDP && !w.sides[1].wantsUDP
	switch {
	case !can:
		w.reached = Never
	case w.reached == Never:
		w.reached = w.now
	}
	w.log("%v: %v", w.now, w)
}

func (w *world) String() string {
	return fmt.Sprintf("UDP reaches %v, TCP works %v, by TCP %v %v", w.udp, w.tcp, w.sides[0].way != nil, w.sides[1].way != nil)
}

// pump does what the machine wants done, and keeps its timer.
func (s *side) pump() {
	for a, ok := s.m.Poll(); ok; a, ok = s.m.Poll() {
		s.perform(&a)
	}
	if at := s.m.Timeout(); at != s.timerAt {
		s.timerAt = at
		if at != Never {
			s.w.after(max(0, at-s.w.now), s.timeout)
		}
	}
}

func (s *side) timeout() {
	if s.m.HandleTimeout(s.w.now); s.m.Timeout() <= s.w.now {
		s.w.fail("side %d has a timeout without end", s.number)
	}
}

func (s *side) perform(a *Action) {
	w := s.w
	if w.plant != nil && w.plant(a) {
		return
	}
	end, _ := a.Link.(*connEnd)
	if used, owned := s.endsOwned[end]; end != nil && (!owned || end.closed || !used && (a.Kind == Tell || a.Kind == Divert)) {
		w.fail("side %d does %d with a connection that is not in use", s.number, a.Kind)
		return
	}
	switch a.Kind {
	case Open:
		s.open(a)
	case Cancel:
		if s.attempt == nil || s.attempt.number != a.Attempt {
			w.fail("side %d cancels attempt %d", s.number, a.Attempt)
			return
		}
		s.attempt.finish(nil)
	case Use:
		s.use(end, a.Ours)
	case Refuse, Close:
		s.close(end)
	case Divert:
		s.way, s.divertAt = end, w.now
	case Tell:
		s.tell(end, a.Frame())
	case Probe:
		if number := a.Number; w.udp[s.number] {
			w.after(w.delay(), func() { s.peer().m.Probed(w.now, number) })
		}
	case Reply:
		if s.commands--; a.Err == nil { // one that fails changes nothing
			s.wantsUDP = a.Ref.(Carrier) == UDP
			w.changed()
		}
	case Moved:
		w.log("%v side %d moves to %v, %v (%v)", w.now, s.number, a.To, a.Reason, a.Err)
		if s.moves++; (a.To == TCP) != (s.way != nil) {
			w.fail("side %d says that it sends by %v", s.number, a.To)
		}
	}
}

// change lets something else happen to the network: one of the two carriers works, or both.
func (w *world) change() {
	w.udp = [2]bool{w.rng.IntN(2) == 0, w.rng.IntN(2) == 0}
	w.tcp = !w.udp[0] || !w.udp[1] || w.rng.IntN(2) == 0
	w.changed()
}

func (s *side) command(c Carrier) {
	w := s.w
	w.log("%v side %d is commanded to %v", w.now, s.number, c)
	s.commands++
	s.m.Command(w.now, c, c)
	s.pump()
}

// runSeed lets a world of a seed happen and returns the promise that it breaks.
func runSeed(seed uint64, log func(string, ...any)) error {
	w := newWorld(seed)
	if log != nil {
		w.log = log
	}
	return w.run()
}

func (w *world) run() error {
	for range 1 + w.rng.IntN(8) {
		if w.rng.IntN(3) > 0 {
			w.change()
		}
		w.runUntil(w.now + 3*w.patience + time.Duration(w.rng.Int64N(int64(3*w.patience))))
		if w.rng.IntN(2) == 0 {
			w.sides[w.rng.IntN(2)].command(Carrier(w.rng.IntN(3)))
		}
	}
	w.udp, w.tcp = [2]bool{true, true}, true
	w.changed()
	for _, s := range w.sides {
		s.command(Auto)
	}
	w.runUntil(w.now + 2*w.patience) // what was silent before is noticed
	for limit := w.now + 3*longestFirst + 10*w.patience; w.now < limit && w.unsettled() != ""; {
		w.runUntil(w.now + w.patience)
	}
	for _, s := range w.sides {
		s.moves = 0
	}
	w.runUntil(w.now + 5*w.patience)
	if why := w.unsettled(); why != "" {
		w.fail("all is well for long, and %s", why)
	}
	if n := w.sides[0].moves + w.sides[1].moves; n != 0 {
		w.fail("all is well for long, and the sides move %d times", n)
	}
	return w.failure
}

// unsettled says what is not as it was in the beginning.
func (w *world) unsettled() string {
	for _, s := range w.sides {
		switch {
		case s.commands != 0:
			return fmt.Sprintf("side %d: %d commands have no reply", s.number, s.commands)
		case s.way != nil || s.m.OnTCP():
			return fmt.Sprintf("side %d is not back on UDP", s.number)
		case !s.m.Resting() || len(s.endsOwned) != 0:
			return fmt.Sprintf("side %d has %d connections, resting %v", s.number, len(s.endsOwned), s.m.Resting())
		}
	}
	return ""
}

// TestSeeds: whatever becomes of UDP and TCP, as long as one of them works at a time neither side is without
// packets of the other for as long as its queue pair is patient, every command has one reply, no connection is left behind,
// and when all is well both sides are on UDP.
func TestSeeds(t *testing.T) {
	first, count := seeds.Range(t, 500)
	for seed := first; seed < first+count; seed++ {
		if err := runSeed(seed, nil); err != nil {
			t.Fatalf("seed %d: %v\nreplay: BRAID_SEED_BASE=%d BRAID_SEEDS=1 go test ./internal/mock -run '^TestSeed$' -v", seed, err, seed)
		}
	}
}

// TestSeed replays one seed and tells what happens.
func TestSeed(t *testing.T) {
	first, count := seeds.Range(t, 0)
	if count != 1 {
		t.Skip("BRAID_SEEDS=1 and BRAID_SEED_BASE name a seed")
	}
	if err := runSeed(first, t.Logf); err != nil {
		t.Fatal(err)
	}
}

// The seeds find what they are to find.
func TestCanaries(t *testing.T) {
	for name, plant := range map[string]func(*Action) bool{
		"nobody says that it has left TCP":  func(a *Action) bool { return a.Kind == Probe && a.Number == leaveNumber },
		"probes are not confirmed":          func(a *Action) bool { return a.Kind == Tell && a.frame[0] == frameProbed },
		"the peer is not told of a move":    func(a *Action) bool { return a.Kind == Tell && a.frame[0] == frameUDP },
		"connections stay open":             func(a *Action) bool { return a.Kind == Close },
		"a command has no reply":            func(a *Action) bool { return a.Kind == Reply && a.Err != nil },
		"packets stay on a dead connection": func(a *Action) bool { return a.Kind == Divert && a.Link == nil },
	} {
		t.Run(name, func(t *testing.T) {
			for seed := uint64(1); seed <= 300; seed++ {
				w := newWorld(seed)
				w.plant = plant
				if w.run() != nil {
					return
				}
			}
			t.Error("300 seeds did not find it")
		})
	}
}

// A side that sends by TCP, and receives nothing long after its peer has returned to UDP, has the peer send by TCP
// again before it doubts the connection.
func TestSilenceOfAPeerThatHasReturned(t *testing.T) {
	patience := 4 * time.Second
	m := New(true, patience)
	frames := func() (frames []byte) {
		for a, ok := m.Poll(); ok; a, ok = m.Poll() {
			switch a.Kind {
			case Tell:
				frames = append(frames, a.Frame()[0])
			case Close:
				frames = append(frames, 0)
			}
		}
		return frames
	}
	m.Offer(0, "connection")
	m.Heard(0, "connection", [FrameLen]byte{frameTCP})
	m.Heard(patience, "connection", [FrameLen]byte{frameUDP})
	frames()
	if m.Silent(10 * patience); !slices.Equal(frames(), []byte{frameTCP}) || !m.OnTCP() {
		t.Error("the peer is not told to send by TCP")
	}
	if m.Silent(10*patience + patience/8); !slices.Equal(frames(), []byte{frameTCP}) || !m.OnTCP() {
		t.Error("the peer is not told again")
	}
	if m.Silent(10*patience + patience/4); !slices.Contains(frames(), 0) || m.OnTCP() {
		t.Error("the connection is not given up, and the queue pair will")
	}
}

// A side that is commanded to UDP while it opens a connection stays there when the peer opens one.
func TestOfferToASideCommandedToUDP(t *testing.T) {
	m := New(false, 4*time.Second)
	m.Silent(0) // opens a connection
	m.Command(1, UDP, "command")
	m.Offer(2, "connection")
	if m.OnTCP() {
		t.Error("on TCP, and commanded to UDP")
	}
}

// A side that is commanded to UDP and receives nothing gives up the connection that its peer may be sending by.
func TestSilenceOfAPeerOnTCP(t *testing.T) {
	patience := 4 * time.Second
	m := New(false, patience)
	m.Command(0, UDP, "command")
	m.Offer(0, "connection")
	m.Heard(0, "connection", [FrameLen]byte{frameTCP})
	var done []ActionKind
	take := func() []ActionKind {
		done = nil
		for a, ok := m.Poll(); ok; a, ok = m.Poll() {
			done = append(done, a.Kind)
		}
		return done
	}
	take()
	if m.Silent(patience / 8); len(take()) != 0 {
		t.Errorf("the connection is new, and %v is done", done)
	}
	if m.Silent(patience / 2); !slices.Equal(take(), []ActionKind{Close, Probe}) {
		t.Errorf("it carries nothing, and %v is done", done)
	}
	if m.Silent(patience * 5 / 8); !slices.Equal(take(), []ActionKind{Probe}) {
		t.Errorf("the peer may not know, and %v is done", done)
	}
}
