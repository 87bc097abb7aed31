package machine

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/braid-rdma/braid/internal/seeds"
)

// world is two machines and the queue pairs between them, which break at any moment
// and whose packets arrive late. The memory is real, so that a repeated or a late
// effect shows.
type world struct {
	r      *rand.Rand
	now    Time
	ends   [2]*worldEnd
	lanes  []worldLane
	breaks int  // that may still happen
	hasty  bool // a fault: WRITEs are repeated before the peer has closed its end
	forget bool // a fault: copies of chunks are not known as copies
	err    error
}

const (
	worldSlots   = 4
	worldRequest = 40 // bytes at most
	spent        = 0xee
)

type worldEnd struct {
	m        *Machine
	balancer *pickNoter
	slots    [worldSlots][worldRequest]byte // the peer writes them
	slotBusy [worldSlots]bool               // of the peer's, by this end's WRITE
	want     [worldSlots]byte               // what this end's last WRITE put into the peer's
	requests map[Number]*worldReq
	receives map[Number][]byte
	sent     [][]byte // by SENDs, in order
	arrived  int
	toPost   int
	toOffer  int
	nextDone Number
}

// pickNoter notes what a balancer has picked last, and not seen posted.
type pickNoter struct {
	Balancer
	lane, bytes int // lane -1: nothing
}

func (b *pickNoter) Pick(lanes []LaneView) int {
	if b.lane = b.Balancer.Pick(lanes); b.lane >= 0 {
		b.bytes = lanes[b.lane].Next
	}
	return b.lane
}

type worldReq struct {
	op   Op
	slot int
	data []byte
}

type worldLane struct {
	queue  [2][]*worldOp // by end that posted
	broken bool
	closed [2]bool
	fenced bool
}

type worldOp struct {
	w        Work
	data     []byte
	executed bool
}

func newWorld(seed uint64) *world {
	r := rand.New(rand.NewPCG(seed, 7))
	w := &world{r: r, breaks: r.IntN(12), lanes: make([]worldLane, 1+r.IntN(4))}
	for i := range w.ends {
		balancers := []Balancer{RoundRobin(), Random(seed), LeastOutstanding(), DynamicChunks(1 + r.IntN(2)), Proportional()}
		cfg := Config{Lanes: len(w.lanes), Chunk: 1 + r.IntN(16), Depth: 1 + r.IntN(4), Eager: r.IntN(8), TwoSided: max(0, r.IntN(16)-6), Balancer: balancers[r.IntN(len(balancers))]}
		if r.IntN(4) == 0 {
			cfg.Window = &WindowConfig{First: 2, Step: 1, Max: 32}
		}
		balancer := &pickNoter{Balancer: cfg.Balancer, lane: -1}
		cfg.Balancer = balancer
		w.ends[i] = &worldEnd{m: New(cfg), balancer: balancer, requests: map[Number]*worldReq{}, receives: map[Number][]byte{}, toPost: 20}
		for l := range w.lanes {
			w.ends[i].m.HandleUp(l)
		}
	}
	return w
}

func (w *world) failf(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf(format, args...)
	}
}

// run plays until nothing is left to do, and returns what went wrong.
func (w *world) run() error {
	for step := 0; w.err == nil; step++ {
		if step > 200000 {
			return fmt.Errorf("no end")
		}
		w.now += Time(1 + w.r.IntN(1000))
		busy := false
		for i := range w.ends {
			busy = w.post(i) || busy
			busy = w.poll(i) || busy
		}
		for l := range w.lanes {
			busy = w.lane(l) || busy
		}
		if !busy {
			break
		}
	}
	if w.err == nil {
		w.checkEnd()
	}
	return w.err
}

// post posts a request, and a receive for each SEND of the peer.
func (w *world) post(i int) bool {
	e, peer := w.ends[i], w.ends[1-i]
	if e.toOffer > 0 && w.r.IntN(2) == 0 {
		e.toOffer--
		buf := bytes.Repeat([]byte{0}, worldRequest)
		e.receives[e.m.PostReceive(len(buf))] = buf
	}
	if e.toPost == 0 {
		return e.toOffer > 0
	}
	if w.r.IntN(3) > 0 {
		return true
	}
	q := &worldReq{op: Op(w.r.IntN(3)), slot: w.r.IntN(worldSlots), data: make([]byte, w.r.IntN(worldRequest+1))}
	for k := range q.data {
		q.data[k] = byte(w.r.IntN(200))
	}
	switch q.op {
	case Write:
		if e.slotBusy[q.slot] {
			return true
		}
		e.slotBusy[q.slot] = true
		version := byte(e.toPost)
		q.data = bytes.Repeat([]byte{version}, worldRequest)
		e.want[q.slot] = version
	case Read:
		clear(q.data)
	case Send:
		e.sent = append(e.sent, bytes.Clone(q.data))
		peer.toOffer++
	}
	e.toPost--
	e.requests[e.m.Post(q.op, len(q.data))] = q
	return true
}

// poll takes work and completions of a machine.
func (w *world) poll(i int) (busy bool) {
	e := w.ends[i]
	for {
		work, ok := e.m.PollWork(w.now)
		if !ok {
			break
		}
		busy = true
		w.picked(e.balancer, &work)
		op := &worldOp{w: work}
		switch q := e.requests[work.Request]; {
		case work.Kind == Message && work.Header.Kind == HeaderAnnounce:
			if int(work.Request) < e.arrived {
				w.failf("receive %d is announced after it is done", work.Request)
			}
			op.w.Header.Target = Target{Addr: uint64(work.Request), Length: uint64(len(e.receives[work.Request]))}
		case work.Kind == Message && work.Header.Kind == HeaderOffer:
		case work.Kind == ReadChunk:
		default:
			op.data = bytes.Clone(q.data[work.Offset : work.Offset+work.Length])
		}
		l := &w.lanes[work.Lane]
		l.queue[i] = append(l.queue[i], op)
		if l.broken && l.closed[i] {
			w.failf("work on a closed lane")
		}
	}
	if e.balancer.lane >= 0 {
		w.failf("lane %d is picked, and nothing posted", e.balancer.lane)
	}
	for {
		c, ok := e.m.PollCompletion()
		if !ok {
			return busy
		}
		busy = true
		w.completed(i, c)
	}
}

// picked checks that what a balancer picked is what is posted: some count it.
func (w *world) picked(b *pickNoter, work *Work) {
	if work.Kind == Message {
		return
	}
	if b.lane != work.Lane || b.bytes != work.Length {
		w.failf("work of %d bytes on lane %d, picked were %d on %d", work.Length, work.Lane, b.bytes, b.lane)
	}
	b.lane = -1
}

// completed checks a completion, then uses the memory for something else.
func (w *world) completed(i int, c Completion) {
	e, peer := w.ends[i], w.ends[1-i]
	if c.Err != nil {
		w.failf("completion %+v", c)
		return
	}
	if c.Receive {
		if c.Number != Number(e.arrived) || !bytes.Equal(e.receives[c.Number][:c.Bytes], peer.sent[e.arrived]) {
			w.failf("receive %d is not the message %d", c.Number, e.arrived)
		}
		e.arrived++
		fill(e.receives[c.Number])
		return
	}
	if c.Number != e.nextDone {
		w.failf("request %d completes, want %d", c.Number, e.nextDone)
	}
	e.nextDone++
	q := e.requests[c.Number]
	switch q.op {
	case Write:
		e.slotBusy[q.slot] = false
		if !bytes.Equal(peer.slots[q.slot][:], q.data) {
			w.failf("WRITE %d is done and not there", c.Number)
		}
	case Read:
		for k, b := range q.data {
			if b != readByte(k) {
				w.failf("READ %d is done and not there", c.Number)
			}
		}
	}
	fill(q.data)
}

func readByte(k int) byte { return byte(k*7 + 1) }

func fill(b []byte) {
	for k := range b {
		b[k] = spent
	}
}

// lane lets something happen on a lane.
func (w *world) lane(l int) bool {
	x := &w.lanes[l]
	if !x.broken && w.breaks > 0 && w.r.IntN(40) == 0 {
		w.breaks--
		x.broken = true
	}
	busy := x.broken
	for i := range x.queue {
		busy = w.serve(l, i) || busy
	}
	if !x.broken {
		return busy
	}
	for i := range w.ends {
		if !x.closed[i] && w.r.IntN(10) == 0 {
			w.closeEnd(l, i)
		}
	}
	if x.closed[0] && x.closed[1] && !x.fenced && w.r.IntN(5) == 0 {
		x.fenced = true
		w.ends[0].m.HandleFenced(l)
		w.ends[1].m.HandleFenced(l)
	}
	if x.fenced && w.r.IntN(5) == 0 {
		*x = worldLane{}
		w.ends[0].m.HandleUp(l)
		w.ends[1].m.HandleUp(l)
	}
	return true
}

// serve executes the oldest operation that is not, or completes the oldest one. Of a
// broken queue pair operations arrive late, until the peer has closed its end.
func (w *world) serve(l, i int) bool {
	x := &w.lanes[l]
	for _, op := range x.queue[i] {
		if op.executed {
			continue
		}
		if w.r.IntN(2) == 0 && !x.closed[1-i] && (!x.closed[i] || op.w.Kind != ReadChunk) {
			op.executed = true
			w.execute(i, op)
		}
		break
	}
	if x.closed[i] || len(x.queue[i]) == 0 {
		return len(x.queue[i]) > 0 && !x.closed[i]
	}
	if op := x.queue[i][0]; op.executed && w.r.IntN(2) == 0 && !x.broken {
		x.queue[i] = x.queue[i][1:]
		w.ends[i].m.HandleDone(w.now, op.w.Tag, OK, nil)
	}
	return true
}

// execute has the effect of an operation.
func (w *world) execute(i int, op *worldOp) {
	e, peer := w.ends[i], w.ends[1-i]
	switch op.w.Kind {
	case WriteChunk:
		if t := op.w.Target; t != nil {
			copy(peer.receives[Number(t.Addr)][op.w.Offset:], op.data)
			return
		}
		copy(peer.slots[e.requests[op.w.Request].slot][op.w.Offset:], op.data)
	case ReadChunk:
		data := e.requests[op.w.Request].data
		for k := op.w.Offset; k < op.w.Offset+op.w.Length; k++ {
			data[k] = readByte(k)
		}
	case Message, SendChunk:
		h, rest, err := ParseHeader(append(op.w.Header.Append(nil), op.data...))
		if err != nil {
			w.failf("parse: %v", err)
			return
		}
		if r, _ := peer.m.receives.find(h.Number); w.forget && r != nil {
			clear(r.arrived)
		}
		place, err := peer.m.HandleHeader(&h, len(rest))
		if err != nil {
			w.failf("header: %v", err)
		}
		if place {
			copy(peer.receives[h.Number][h.Offset:], rest)
		}
	}
}

// closeEnd closes one end of a broken queue pair. What was executed before may be known
// to be, or not.
func (w *world) closeEnd(l, i int) {
	x, m := &w.lanes[l], w.ends[i].m
	x.closed[i] = true
	known := true
	for k, op := range x.queue[i] {
		outcome := PathLost
		if known = known && op.executed && w.r.IntN(2) == 0; known {
			outcome = OK
		} else if k == 0 && w.r.IntN(2) == 0 {
			outcome = RetryExceeded
		}
		m.HandleDone(w.now, op.w.Tag, outcome, nil)
	}
	m.HandleDown(l)
	if w.hasty {
		m.HandleFenced(l)
	}
}

// checkEnd expects all to be done, and no memory to have changed after.
func (w *world) checkEnd() {
	for i, e := range w.ends {
		peer := w.ends[1-i]
		if int(e.nextDone) != len(e.requests) || e.arrived != len(peer.sent) {
			w.failf("end %d: %d of %d requests and %d of %d messages", i, e.nextDone, len(e.requests), e.arrived, len(peer.sent))
		}
		for s, want := range e.want {
			if got := peer.slots[s]; !bytes.Equal(got[:], bytes.Repeat([]byte{want}, worldRequest)) {
				w.failf("end %d: slot %d has %v, want %d", i, s, got, want)
			}
		}
		for n, buf := range e.receives {
			if !bytes.Equal(buf, bytes.Repeat([]byte{spent}, len(buf))) {
				w.failf("end %d: receive %d was written after it was done", i, n)
			}
		}
		for n, q := range e.requests {
			if !bytes.Equal(q.data, bytes.Repeat([]byte{spent}, len(q.data))) {
				w.failf("end %d: memory of request %d was written after it was done", i, n)
			}
		}
	}
}

// TestSeeds: queue pairs break at any moment and completions come in any order; each
// request completes once, in order, with its bytes, and nothing changes later.
func TestSeeds(t *testing.T) {
	first, count := seeds.Range(t, 3000)
	for seed := first; seed < first+count; seed++ {
		if err := newWorld(seed).run(); err != nil {
			seeds.SayReplay(t, seed, "./bundle/machine")
			t.Fatal(err)
		}
	}
}

// TestSeedsFindRepetitionBeforeFence plants the fault that the fence is for.
func TestSeedsFindRepetitionBeforeFence(t *testing.T) {
	wantFound(t, func(w *world) { w.hasty = true })
}

// TestSeedsFindCopies plants the fault that the bitmap of chunks is for.
func TestSeedsFindCopies(t *testing.T) {
	wantFound(t, func(w *world) { w.forget = true })
}

func wantFound(t *testing.T, plant func(*world)) {
	t.Helper()
	for seed := uint64(1); seed < 3000; seed++ {
		w := newWorld(seed)
		plant(w)
		if w.run() != nil {
			return
		}
	}
	t.Error("the fault was not noticed")
}
