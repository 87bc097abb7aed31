package transport

import (
	"slices"
	"testing"
)

// Out-of-order degrees: how they are measured, and what happens without control.

// The degree of a packet is its distance from the expected one (MP-RDMA,
// footnote 3); every accepted packet is observed, refused ones and duplicates
// are not.
func TestMPObservesDegrees(t *testing.T) {
	var degrees []int
	q := newMPTest(t, func(o *MPOptions) {
		o.Slots, o.Delta = 8, 4
		o.ObserveDegree = func(d int) { degrees = append(degrees, d) }
	})
	packets := q.peerWrite(0, 0, pattern(1, 12*mpMTU))
	for _, n := range []int{0, 3, 2, 3, 9, 1, 4, 11} {
		q.arrive(packets[n])
	}
	// 9 is beyond L at the time, 3 comes twice; after 1 the head is at 4.
	if want := []int{0, 2, 1, 0, 0, 6}; !slices.Equal(degrees, want) {
		t.Errorf("degrees %v, want %v", degrees, want)
	}
	if got := q.mp.Counters().MaxOutOfOrder; got != 6 {
		t.Errorf("highest degree %d, want 6", got)
	}
}

// farDegree is beyond what MP-RDMA §5.2.1 measured without control (5324).
const farDegree = 6000

// withoutControl are the options for an experiment without control of the order.
func withoutControl(o *MPOptions) {
	o.Slots, o.Delta = MaxTrackingSlots, MaxTrackingSlots
}

// A receiver with a large L takes packets far ahead.
func TestMPTracksFarAhead(t *testing.T) {
	q := newMPTest(t, withoutControl)
	packets := q.peerWrite(0, 0, pattern(1, 1<<20))
	chunk := len(packets)
	highest := 0
	for first := chunk; first <= farDegree; first += chunk {
		for _, p := range q.peerWrite(first, 0, pattern(1, 1<<20)) {
			q.arrive(p)
			highest++
		}
	}
	c := q.mp.Counters()
	if c.OOOAccepted != uint64(highest) || c.OutOfSequence != 0 || c.MaxOutOfOrder < farDegree {
		t.Fatalf("accepted %d of %d, refused %d, highest degree %d", c.OOOAccepted, highest, c.OutOfSequence, c.MaxOutOfOrder)
	}
	for _, p := range packets {
		q.arrive(p)
	}
	if int(q.mp.recv.in[requests].nxt-firstSeq(peerFirst)) != highest+chunk || q.mp.recv.in[requests].ahead != 0 {
		t.Errorf("the head is at %d of %d", q.mp.recv.in[requests].nxt-firstSeq(peerFirst), highest+chunk)
	}
}

// slowCounter counts what path selection takes for slow.
type slowCounter struct {
	CongestionControl
	slow int
}

func (c *slowCounter) OnSlowAck() { c.slow++ }

// With Delta = Slots no acknowledgement is too late; with the paper's it is.
func TestMPSenderWithoutControl(t *testing.T) {
	for _, control := range []bool{false, true} {
		q := newMPTest(t, func(o *MPOptions) {
			withoutControl(o)
			if control {
				o.Delta = 32
			}
			fixedWindowOf(farDegree + 100)(o)
		})
		counter := &slowCounter{CongestionControl: q.mp.gate.control}
		q.mp.SetCongestionControl(counter)
		q.write(4000)
		q.write(4000)
		q.advance(mpRTT)
		for n := 1; n <= farDegree; n++ {
			q.ack(n)
		}
		q.ack(0)
		if (counter.slow > 0) != control {
			t.Errorf("control %v: %d acknowledgements taken for slow", control, counter.slow)
		}
	}
}
