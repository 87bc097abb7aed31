package transport

import (
	"fmt"
	"testing"

	"github.com/braid-rdma/braid/wire"
)

// TestRCRetryCountIsExact (faults, row 5): every retransmission is lost.
func TestRCRetryCountIsExact(t *testing.T) {
	for count := range uint8(8) {
		s := newRCScript(t, func(a *Attr) { a.RetryCount = count })
		s.write(1)
		s.write(1)
		s.wantSent("first", "WRITE_ONLY 0?", "WRITE_ONLY 1?")
		for range count {
			s.advanceToTimer()
			s.wantSent("again", "WRITE_ONLY 0?", "WRITE_ONLY 1?")
		}
		s.wantCompletions("not yet")
		s.advanceToTimer()
		s.wantSent("given up")
		s.wantCompletions("oldest fails, others are flushed", "1 RETRY_EXC_ERR", "2 WR_FLUSH_ERR")
		s.wantState("given up", Err)
		s.wantEvents("given up", EventQPFatal)
		if c := s.Counters(); c.LocalAckTimeoutErr != uint64(count)+1 || c.Retransmitted != 2*uint64(count) {
			t.Errorf("count %d: %d timeouts, %d retransmissions", count, c.LocalAckTimeoutErr, c.Retransmitted)
		}
		if s.Timeout() != Never {
			t.Error("a timer survived the error")
		}
	}
}

func TestRCProgressRenewsRetries(t *testing.T) {
	s := newRCScript(t, func(a *Attr) { a.RetryCount = 1 })
	s.write(3)
	s.sent()
	for psn := range wire.PSN(2) {
		s.advanceToTimer()
		s.sent()
		s.ack(psn)
	}
	s.advanceToTimer()
	s.wantSent("third timeout, second since the last progress would fail", "WRITE_LAST 2?")
	s.wantState("alive", RTS)
}

// TestRCTimeoutZeroNeverFires: the specification makes zero mean infinite.
func TestRCTimeoutZeroNeverFires(t *testing.T) {
	s := newRCScript(t, func(a *Attr) { a.Timeout = 0 })
	s.write(1)
	s.sent()
	if s.Timeout() != Never {
		t.Error("a timer is armed")
	}
}

// TestRCRNRCountIsExact (faults, row 29).
func TestRCRNRCountIsExact(t *testing.T) {
	const code = 14 // 1.28 ms
	for count := range uint8(8) {
		s := newRCScript(t, func(a *Attr) { a.RNRRetry = count })
		s.post(SendWR{Op: OpSend, SGEs: []SGE{s.region.span(0, 4)}})
		s.write(1)
		s.wantSent("first", "SEND_ONLY 0?", "WRITE_ONLY 1?")
		retries := int(count)
		if count == InfiniteRNRRetry {
			retries = 50
		}
		for range retries {
			s.nak(0, wire.RNRSyndrome(code))
			s.nak(0, wire.RNRSyndrome(code)) // the network repeats it
			s.wantSent("it waits")
			if wait := s.Timeout() - s.now; wait != Time(wire.RNRTimerNanos(code)) {
				t.Fatalf("waits %d ns", wait)
			}
			s.now = s.Timeout() - 1
			s.HandleTimeout(s.now)
			s.wantSent("not a nanosecond early")
			s.advanceToTimer()
			s.wantSent("again, alone", "SEND_ONLY 0?")
		}
		s.wantState("still trying", RTS)
		if count == InfiniteRNRRetry {
			continue
		}
		s.nak(0, wire.RNRSyndrome(code))
		s.wantCompletions("given up", "1 RNR_RETRY_EXC_ERR", "2 WR_FLUSH_ERR")
		if s.Counters().RNRNakRetryErr != 1 {
			t.Error("not counted")
		}
	}
}

// TestRCProgressRenewsRNRRetries: the count is of retries for one message that
// finds no receive, not of all in the life of a connection.
func TestRCProgressRenewsRNRRetries(t *testing.T) {
	s := newRCScript(t, func(a *Attr) { a.RNRRetry = 1 })
	for psn := range wire.PSN(5) {
		s.post(SendWR{Op: OpSend})
		s.sent()
		s.nak(psn, wire.RNRSyndrome(1))
		s.advanceToTimer()
		s.sent()
		s.ack(psn)
		s.wantCompletions("in the end there was a receive", fmt.Sprintf("%d SUCCESS", psn+1))
	}
}

// TestRCRNRIsNotSilence: a peer that answers "not ready" between losses is
// alive, however often it happens.
func TestRCRNRIsNotSilence(t *testing.T) {
	s := newRCScript(t, func(a *Attr) { a.RetryCount, a.RNRRetry = 1, InfiniteRNRRetry })
	s.post(SendWR{Op: OpSend})
	s.sent()
	for range 5 {
		s.advanceToTimer()
		s.wantSent("after silence", "SEND_ONLY 0?")
		s.nak(0, wire.RNRSyndrome(1))
		s.advanceToTimer()
		s.wantSent("after the wait", "SEND_ONLY 0?")
	}
}
