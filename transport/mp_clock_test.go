package transport

import (
	"math"
	"testing"
)

// Congestion control and multi-path ACK clocking: MP-RDMA §3.2, and burst
// control, path window reduction and restart of §3.5.

// §3.2: the sender randomly spreads an initial window of packets to IW initial VPs.
func TestMPInitialWindowGoesToRandomPaths(t *testing.T) {
	uses := make([]int, 16)
	for seed := range uint64(200) {
		o := PaperOptions()
		mem := mpMemory{newTestMemory()}
		local := mem.register(mpPD, 1<<16, LocalWrite)
		m := connectMP(t, Second, mpConfig(mem, o, seed), mpAttr())
		if err := m.PostSend(Second, &SendWR{Op: OpWrite, SGEs: []SGE{local.span(0, 40*mpMTU)}}); err != nil {
			t.Fatal(err)
		}
		var p Packet
		n := 0
		for ; m.PollTransmit(Second, &p); n++ {
			uses[p.Path]++
			if p.MP.Path != uint16(p.Path) {
				t.Fatalf("sent by path %d, says %d", p.Path, p.MP.Path)
			}
		}
		if n != o.InitialWindow {
			t.Fatalf("seed %d: %d packets before any ACK, want IW=%d", seed, n, o.InitialWindow)
		}
	}
	// 3,200 packets over 16 paths: 200 each, standard deviation 13.7.
	for p, n := range uses {
		if n < 140 || n > 260 {
			t.Errorf("path %d was chosen %d times of 3200", p, n)
		}
	}
}

// §3.2: for each received ACK, cwnd + 1/cwnd without a mark, cwnd - 1/2 with one.
func TestMPWindowMovesByEveryAck(t *testing.T) {
	q := newMPTest(t, nil)
	q.write(40)
	want := 4.0
	for n, isMarked := range []bool{false, false, true, false, true, true} {
		if isMarked {
			q.ack(n, marked)
			want -= 0.5
		} else {
			q.ack(n)
			want += 1 / want
		}
		q.wantWindow("after an ACK", want)
	}
	if got := q.mp.Paths()[q.sent[2].Path].Marked; got == 0 {
		t.Error("the mark is not counted on its path")
	}
}

// §3.2: packets that an ACK allows are sent along the VP carried in the ACK.
func TestMPAckClocksItsOwnPath(t *testing.T) {
	q := newMPTest(t, nil)
	q.write(40)
	q.wantSent("IW", 0, 1, 2, 3)
	for i, step := range []struct{ acked, path int }{{2, 9}, {0, 5}, {3, 9}, {1, 0}} {
		q.ack(step.acked, onPath(Path(step.path)))
		for _, p := range q.wantSent("one ACK, one packet", 4+i) {
			if int(p.Path) != step.path {
				t.Errorf("packet %d clocked by an ACK of path %d went by path %d", 4+i, step.path, p.Path)
			}
		}
	}
}

// §3.2: inflate and awnd = cwnd + inflate - (snd_nxt - snd_una).
func TestMPInflateFollowsThePaper(t *testing.T) {
	q := newMPTest(t, func(o *MPOptions) { o.Control = NewFixedWindow; o.MaxWindow = 4 })
	q.write(6)
	q.wantSent("cwnd 4", 0, 1, 2, 3)
	for _, step := range []struct {
		ack                     int
		sent                    []int
		inflate, una, nxt, awnd int
	}{
		{1, []int{4}, 1, 0, 5, 0},
		{2, []int{5}, 2, 0, 6, 0},
		{3, nil, 3, 0, 6, 1},
		{0, nil, 0, 4, 6, 2}, // 0..3 have arrived: inflate 4, less the step of 4
		{5, nil, 1, 4, 6, 3},
		{4, nil, 0, 6, 6, 4},
	} {
		q.ack(step.ack)
		q.wantSent("clocked", step.sent...)
		r := &q.mp.loss.(*paperRecovery).streams[requests]
		una, nxt := q.number(q.mp.out[requests].una.psn()), q.number(q.mp.out[requests].nxt.psn())
		if r.inflate != step.inflate || una != step.una || nxt != step.nxt || q.mp.gate.available(q.mp.loss.inFlight()) != step.awnd {
			t.Fatalf("ACK of %d: inflate %d una %d nxt %d awnd %d, want %+v", step.ack, r.inflate, una, nxt, q.mp.gate.available(q.mp.loss.inFlight()), step)
		}
	}
}

// §3.2: the estimate "can be temporarily inaccurate" when ACKs overtake each
// other, never for good: what is in the network stays within cwnd.
func TestMPInflateSurvivesReorderedAcks(t *testing.T) {
	const window = 8
	q := newMPTest(t, func(o *MPOptions) { o.Control = NewFixedWindow; o.InitialWindow, o.MaxWindow = window, window })
	q.write(2000)
	for n := 0; n+1 < 1000; n += 2 {
		q.receive(n) // arrived first, but its ACK is overtaken by the next one
		late := q.ackOf(n)
		late.AACK = q.psn(n + 1)
		q.ack(n + 1)
		q.handle(late)
		q.advance(mpRTT / 2)
		if out := len(q.unwanted) - (n + 2); out > window {
			t.Fatalf("after %d ACKs %d packets are in the network, cwnd is %d", n+2, out, window)
		}
	}
}

// openedAtOnce brings a sender to where a single ACK opens a window of many
// packets: the peer's receiver had been full.
func openedAtOnce(t *testing.T) *mpTest {
	t.Helper()
	q := newMPTest(t, func(o *MPOptions) { o.InitialWindow = 12 })
	q.write(100)
	q.wantSent("IW", numbers(0, 12)...)
	for n := range 7 {
		q.ack(n, withWindow(5))
	}
	q.wantIdle("twelve less seven are in flight, and no more may be")
	q.ack(7, onPath(3), withWindow(100))
	for _, p := range q.wantSent("one ACK clocks out at most two", 12, 13) {
		if p.Path != 3 {
			t.Errorf("packet %d left the path of the ACK", q.number(p.PSN))
		}
	}
	return q
}

// §3.5, burst control: one ACK clocks out at most two packets; without further
// ACKs the rest goes half an RTT later, to random VPs.
func TestMPBurstControl(t *testing.T) {
	q := openedAtOnce(t)
	if d := q.advanceToTimer(); d != mpRTT/2 {
		t.Fatalf("burst timer of %v, want half of %v", d, mpRTT)
	}
	paths := map[Path]bool{}
	for _, p := range q.wantSent("the rest of the window", numbers(14, 20)...) {
		paths[p.Path] = true
	}
	if len(paths) < 3 {
		t.Errorf("the burst went to %d paths, want random ones", len(paths))
	}
}

// §3.5: the burst timer is for when no subsequent ACKs return, so an ACK puts it off.
func TestMPBurstTimerWaitsForSilence(t *testing.T) {
	q := openedAtOnce(t)
	q.advance(8 * Microsecond)
	q.ack(8, onPath(4))
	q.wantSent("two more", 14, 15)
	q.advance(q.mp.rtt.smoothed()/2 - 1)
	q.wantIdle("the last ACK is younger than half an RTT")
	q.advance(1)
	if len(q.unwanted) < 2 {
		t.Error("the burst timer did not open the window")
	}
}

// §3.5, path window reduction: an ACK that should kick out a packet and finds
// no data reduces cwnd by one.
func TestMPUnusedWindowShrinks(t *testing.T) {
	q := newMPTest(t, nil)
	q.write(4)
	q.wantSent("IW", 0, 1, 2, 3)
	want := 4.0
	for n := range 3 {
		q.ack(n)
		want += 1/want - 1
		q.wantWindow("use it or lose it", want)
	}
	for range 10 {
		q.handle(q.ackOf(0))
	}
	if w := q.mp.gate.control.Window(); w < 1 || math.IsNaN(w) {
		t.Errorf("cwnd fell to %v", w)
	}
}

// §3.5, connection restart: after 3 idle RTTs begin from IW again.
func TestMPRestartsFromInitialWindow(t *testing.T) {
	for _, c := range []struct {
		name string
		idle Time
		want int
	}{
		{"idle for three RTTs", 3 * mpRTT, 1},
		{"idle for more than three RTTs", 3*mpRTT + 1, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := newMPTest(t, nil)
			q.write(4)
			for n := range 4 {
				q.ack(n, marked, onPath(3))
			}
			q.forget()
			q.wantWindow("unused and marked", 1)
			q.advance(c.idle)
			q.write(20)
			q.wantSent(c.name, numbers(4, 4+c.want)...)
		})
	}
}
