package transport

import (
	"testing"
	"time"

	"github.com/braid-rdma/braid/wire"
)

// Timeouts, retry counts and receivers that are not ready.

// quiet makes a sender whose only timer is the retransmission timeout.
func quiet(t *testing.T, edit func(*MPOptions, *Attr)) *mpTest {
	t.Helper()
	o, attr := PaperOptions(), mpAttr()
	o.ProbeProbability, o.InitialWindow, o.EarlyRetransmit = 0, 4, 1e9
	edit(&o, &attr)
	return newMPTestWith(t, o, attr)
}

// §3.5: RTO will eventually fire and the sender starts to retransmit all
// unacknowledged packets. It doubles each time, up to the acknowledgement
// timeout; and the connection fails when that has passed once for the packets and once
// for each retry, as in RC, whatever the program asks for.
func TestMPAckTimeoutAsInRC(t *testing.T) {
	for _, selective := range []bool{false, true} {
		for _, code := range []uint8{9, 14, 17, 20} {
			for _, retries := range []uint8{0, 1, 7} {
				q := quiet(t, func(o *MPOptions, a *Attr) {
					o.Selective, o.MinRTO = selective, 20*time.Millisecond
					a.RetryCount, a.Timeout = retries, code
				})
				started := q.now
				id := q.write(2)
				q.write(1)
				q.wantSent("three packets", 0, 1, 2)
				sent := 0
				for wait := Time(0); q.mp.State() == RTS; {
					d := q.advanceToTimer()
					if q.mp.State() != RTS {
						break
					}
					sent++
					if longest := max(wait, q.mp.attr.ackTimeout()); d < wait && q.mp.out[requests].retries <= uint16(retries) || d > max(2*wait, longest) && d > longestRTO {
						t.Fatalf("timeout %d came after %v, the one before after %v", sent, d, wait)
					} else {
						wait = d
					}
					if len(q.unwanted) == 0 || q.number(q.unwanted[0].PSN) != 0 {
						t.Fatalf("retry %d did not begin with the oldest packet", sent)
					}
					wantAgain(t, true, q.unwanted)
					q.unwanted = nil
					q.wantDone("no completion while there is time left")
				}
				q.wantIdle("no retry is left")
				want := q.mp.attr.ackTimeout() * Time(retries+1)
				if took := q.now - started; took != want {
					t.Errorf("timeout code %d, %d retries: failed after %v, want %v", code, retries, took, want)
				}
				if sent < int(retries) {
					t.Errorf("timeout code %d: sent again %d times, want at least %d", code, sent, retries)
				}
				got := q.completions()
				if len(got) != 2 || got[0].WRID != id || got[0].Status != RetryExcErr || got[1].Status != WRFlushErr {
					t.Fatalf("retry count %d: %+v in state %v", retries, got, q.mp.State())
				}
				q.wantEvents("one event", EventQPFatal)
			}
		}
	}
}

// An acknowledgement that moves snd_una gives all retries back.
func TestMPProgressRestoresRetries(t *testing.T) {
	q := quiet(t, func(_ *MPOptions, a *Attr) { a.RetryCount = 1 })
	id := q.write(3)
	for n := range 3 {
		q.advanceToTimer()
		q.forget()
		q.ack(n)
	}
	q.wantDone("one timeout before each packet", id)
}

// Timeout 0 never gives up (IBTA), but still retransmits.
func TestMPTimeoutZeroNeverGivesUp(t *testing.T) {
	q := quiet(t, func(_ *MPOptions, a *Attr) { a.Timeout, a.RetryCount = 0, 0 })
	q.write(1)
	for range 50 {
		q.advanceToTimer()
	}
	if q.mp.State() != RTS || len(q.unwanted) != 51 {
		t.Errorf("state %v after %d transmissions", q.mp.State(), len(q.unwanted))
	}
}

func (q *mpTest) send(length int) uint64 {
	q.t.Helper()
	return q.post(SendWR{Op: OpSend, SGEs: []SGE{q.local.span(0, length)}})
}

const rnrCode = 12 // 0.64 ms

// A receiver without a receive is given the time that it asked for.
func TestMPReceiverNotReady(t *testing.T) {
	for _, selective := range []bool{false, true} {
		q := quiet(t, func(o *MPOptions, _ *Attr) { o.Selective = selective })
		id := q.send(10)
		q.wantSent("SEND", 0)
		for range 20 { // 7 is for ever
			q.nak(wire.RNRSyndrome(rnrCode), 0, 0)
			q.wantIdle("the peer asked to wait")
			from := q.now
			q.advance(Time(wire.RNRTimerNanos(rnrCode)) - 1)
			q.wantIdle("still waiting")
			q.advance(1)
			q.wantSent("the wait is over", 0)
			if q.now-from != Time(wire.RNRTimerNanos(rnrCode)) {
				t.Fatalf("waited %v", q.now-from)
			}
		}
		q.ack(0)
		q.wantDone("ready at last", id)
	}
}

func TestMPRNRRetryCountIsExact(t *testing.T) {
	for retries := range uint8(InfiniteRNRRetry) {
		q := quiet(t, func(_ *MPOptions, a *Attr) { a.RNRRetry = retries })
		id := q.send(10)
		q.forget()
		for range retries {
			q.nak(wire.RNRSyndrome(1), 0, 0)
			q.advance(Millisecond / 2)
			q.wantSent("a retry", 0)
		}
		q.nak(wire.RNRSyndrome(1), 0, 0)
		q.wantIdle("none is left")
		got := q.completions()
		if len(got) != 1 || got[0].WRID != id || got[0].Status != RNRRetryExcErr {
			t.Fatalf("RNR retry %d: %+v", retries, got)
		}
	}
}

// Packets behind the SEND that are acknowledged do not give its retries back.
func TestMPRNRRetryCountIsExactBehindLaterAcks(t *testing.T) {
	for _, selective := range []bool{false, true} {
		q := quiet(t, func(o *MPOptions, a *Attr) { o.Selective, a.RNRRetry = selective, 2 })
		q.send(10)
		q.write(2)
		for range 10 {
			q.ack(1)
			q.nak(wire.RNRSyndrome(1), 0, 0)
			q.ack(2)
			q.advance(Millisecond / 2)
			if q.mp.State() == Err {
				break
			}
		}
		got := q.completions()
		if len(got) != 2 || got[0].Status != RNRRetryExcErr {
			t.Fatalf("selective=%v: %+v after ten refusals with two retries", selective, got)
		}
		if n := q.mp.Counters().RNRNaksReceived; n != 3 {
			t.Errorf("selective=%v: gave up after %d refusals, want 3", selective, n)
		}
	}
}

// Refusals of a later SEND do not put off the timeout of a packet that is lost each time it is sent: the
// connection fails when that has lasted for as long as its attributes say, the waits not counted.
func TestMPNotReadyBehindLoss(t *testing.T) {
	for _, selective := range []bool{false, true} {
		q := quiet(t, func(o *MPOptions, a *Attr) { o.Selective, a.Timeout, a.RetryCount = selective, 8, 2 })
		lost := q.write(1)
		q.send(10)
		const between = 100 * Microsecond
		refusals := 0
		for ; q.mp.State() == RTS && refusals < 1000; refusals++ {
			q.advance(between)
			q.nak(wire.RNRSyndrome(rnrCode), 1, 1)
			q.advance(Time(wire.RNRTimerNanos(rnrCode)))
		}
		got := q.completions()
		if len(got) != 2 || got[0].WRID != lost || got[0].Status != RetryExcErr {
			t.Fatalf("selective=%v: after %d refusals %+v", selective, refusals, got)
		}
		if patience := q.mp.attr.patience(); Time(refusals)*between < patience || Time(refusals)*between > patience+5*between {
			t.Errorf("selective=%v: it took %d refusals, %v apart, with a patience of %v", selective, refusals, between, patience)
		}
	}
}

// The receiver's side: no receive, no placement; the wait is the attribute's.
func TestMPReceiverSaysNotReady(t *testing.T) {
	q := newMPTest(t, nil)
	p := q.peerSend(0, 0, pattern(1, 100))
	if v := q.arrive1(p[0]); v != Drop {
		t.Fatalf("verdict %v", v)
	}
	q.wantReplies("no receive", "RNR_NAK(timer 12) 0 refused 0 head 0")
	q.recv(1, 0, 1024)
	q.arrive(p...)
	q.wantReplies("ready", "ack 0 head 1")
	q.wantDone("received", 1)
}

// While responses come the peer is at work, perhaps on a READ that what waits for its
// acknowledgement must not overtake: it is given up when they have stopped for as long.
func TestMPResponsesArePatience(t *testing.T) {
	q := quiet(t, func(_ *MPOptions, a *Attr) { a.RetryCount, a.Timeout = 1, 14 })
	id := q.read(0, 16*mpMTU)
	q.write(1)
	q.forget()
	q.ack(0)
	patience := 2 * q.mp.attr.ackTimeout()
	pieces := q.peerReadResponse(0, 0, pattern(1, 16*mpMTU))
	for i := range pieces[:15] {
		q.advance(patience - Millisecond)
		q.forget()
		if q.arrive(pieces[i]); q.mp.State() != RTS {
			t.Fatalf("given up after %d responses, with %+v", i, q.completions())
		}
	}
	stopped := q.now
	for q.mp.State() == RTS && q.now < stopped+10*patience {
		q.advanceToTimer()
		q.forget()
	}
	if took := q.now - stopped; took != patience {
		t.Errorf("given up %v after the last response, want %v", took, patience)
	}
	if got := q.completions(); len(got) != 2 || got[0].WRID != id || got[0].Status != RetryExcErr {
		t.Errorf("%+v", got)
	}
}

// A peer that refuses a request first waits for the responses that it is owed, and drops the
// requests of this side meanwhile: with a window of one packet these must not be all that is sent.
func TestMPResponseGoesBetweenTimeouts(t *testing.T) {
	for _, selective := range []bool{false, true} {
		q := quiet(t, func(o *MPOptions, _ *Attr) { o.Selective, o.InitialWindow = selective, 1 })
		q.write(1)
		q.wantSent("the window", 0)
		q.arrive(q.peerRequest(wire.ReadRequest, 0, 0, 0, 10))
		q.wantRepliesIgnoringAcks("the window is full")
		q.advanceToTimer()
		q.wantRepliesIgnoringAcks("after the timeout", "MP_READ_RESPONSE_ONLY")
	}
}
