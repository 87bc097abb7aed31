package transport

import (
	"errors"
	"testing"

	"github.com/braid-rdma/braid/wire"
)

// TestRCTransitions tries every pair of states that can be reached.
func TestRCTransitions(t *testing.T) {
	allowed := map[State][]State{
		Reset: {Reset, Init, Err},
		Init:  {Reset, Init, RTR, Err},
		RTR:   {Reset, RTS, Err},
		RTS:   {Reset, RTS, SQD, Err},
		SQD:   {Reset, RTS, SQD, Err},
		Err:   {Reset, Err},
	}
	way := map[State][]State{
		Init: {Init}, RTR: {Init, RTR}, RTS: {Init, RTR, RTS}, SQD: {Init, RTR, RTS, SQD}, Err: {Err},
	}
	attr := rcDefaults()
	for from, targets := range allowed {
		for to := Reset; to <= Err; to++ {
			q, err := NewRC(rcConfig(newTestMemory()))
			if err != nil {
				t.Fatal(err)
			}
			for _, step := range way[from] {
				if err := q.Modify(1, step, &attr); err != nil {
					t.Fatal(err)
				}
			}
			want := false
			for _, s := range targets {
				want = want || s == to
			}
			err = q.Modify(1, to, &attr)
			if want != (err == nil) || err != nil && !errors.Is(err, ErrState) {
				t.Errorf("%v to %v: %v", from, to, err)
			}
			if err != nil && q.State() != from {
				t.Errorf("%v to %v failed and left %v", from, to, q.State())
			}
		}
	}
}

func TestRCAttributesAreChecked(t *testing.T) {
	for name, change := range map[string]func(*Attr){
		"MTU":      func(a *Attr) { a.MTU = 1000 },
		"QPN":      func(a *Attr) { a.RemoteQPN = 1 << 24 },
		"RecvPSN":  func(a *Attr) { a.RecvPSN = 1 << 24 },
		"SendPSN":  func(a *Attr) { a.SendPSN = 1 << 24 },
		"Reads":    func(a *Attr) { a.Reads = MaxReads + 1 },
		"Served":   func(a *Attr) { a.ReadsServed = -1 },
		"Timeout":  func(a *Attr) { a.Timeout = 32 },
		"Retry":    func(a *Attr) { a.RetryCount = 8 },
		"RNRRetry": func(a *Attr) { a.RNRRetry = 8 },
		"RNRTimer": func(a *Attr) { a.MinRNRTimer = 32 },
		"Window":   func(a *Attr) { a.Window = MaxTrackingSlots + 1 },
	} {
		q, _ := NewRC(rcConfig(newTestMemory()))
		attr := rcDefaults()
		change(&attr)
		q.Modify(1, Init, nil)
		if err := q.Modify(1, RTR, &attr); !errors.Is(err, ErrAttr) || q.State() != Init {
			t.Errorf("%s: %v, state %v", name, err, q.State())
		}
	}
	q, _ := NewRC(rcConfig(newTestMemory()))
	q.Modify(1, Init, nil)
	if err := q.Modify(1, RTR, nil); !errors.Is(err, ErrAttr) {
		t.Errorf("RTR without attributes: %v", err)
	}
	attr := rcDefaults()
	q.Modify(1, RTR, &attr)
	bad := Attr{SendPSN: 1 << 24}
	if err := q.Modify(1, RTS, &bad); !errors.Is(err, ErrAttr) || q.State() != RTR {
		t.Errorf("RTS with a bad packet number: %v", err)
	}
	if err := q.Modify(1, RTS, nil); err != nil || q.Attr() != attr {
		t.Errorf("RTS keeps what RTR was given: %v", err)
	}
}

// TestRCPostsInWrongStates (faults, row 32): an error at once, no side effect.
func TestRCPostsInWrongStates(t *testing.T) {
	mem := newTestMemory()
	region := mem.register(7, 100, allAccess)
	attr := rcDefaults()
	send := &SendWR{Op: OpWrite, SGEs: []SGE{region.span(0, 4)}}
	recv := &RecvWR{SGEs: []SGE{region.span(0, 4)}}
	q, _ := NewRC(rcConfig(mem))
	if err := q.PostRecv(recv); !errors.Is(err, ErrState) {
		t.Errorf("receive in RESET: %v", err)
	}
	for _, s := range []State{Reset, Init, RTR} {
		if s != Reset {
			if err := q.Modify(1, s, &attr); err != nil {
				t.Fatal(err)
			}
			if err := q.PostRecv(recv); err != nil {
				t.Errorf("receive in %v: %v", s, err)
			}
		}
		if err := q.PostSend(1, send); !errors.Is(err, ErrState) {
			t.Errorf("send in %v: %v", s, err)
		}
	}
	q.Modify(1, RTS, nil)
	for i := range q.cfg.SendDepth + 1 {
		err := q.PostSend(1, send)
		if full := i == q.cfg.SendDepth; full != errors.Is(err, ErrQueueFull) {
			t.Fatalf("post %d: %v", i, err)
		}
	}
	q.Modify(1, Reset, nil)
	if q.sq.wqes.len() != 0 || q.rq.own.Len() != 0 || q.Timeout() != Never {
		t.Error("RESET did not forget")
	}
	var c Completion
	if q.PollCompletion(&c) {
		t.Error("RESET completes nothing")
	}
}

func TestRCPostLimits(t *testing.T) {
	s := newRCScript(t, nil)
	other := s.mem.register(8, 100, allAccess)
	readOnly := s.mem.register(7, 100, 0)
	one := s.region.span(0, 1)
	for name, c := range map[string]struct {
		wr   SendWR
		want error
	}{
		"too many elements":    {SendWR{Op: OpSend, SGEs: []SGE{one, one, one, one, one}}, ErrTooManySGE},
		"unknown operation":    {SendWR{Op: OpRecv}, ErrOperation},
		"inline too long":      {SendWR{Op: OpSend, Inline: make([]byte, 65)}, ErrInline},
		"inline READ":          {SendWR{Op: OpRead, Inline: make([]byte, 5)}, ErrInline},
		"atomic of four bytes": {SendWR{Op: OpFetchAdd, SGEs: []SGE{s.region.span(0, 4)}}, ErrAtomicShape},
		"no region":            {SendWR{Op: OpSend, SGEs: []SGE{{Length: 1}}}, ErrRange},
		"beyond by one":        {SendWR{Op: OpSend, SGEs: []SGE{{Region: readOnly, Offset: 100, Length: 1}}}, ErrRange},
		"offset and length":    {SendWR{Op: OpSend, SGEs: []SGE{{Region: readOnly, Offset: ^uint64(0), Length: 2}}}, ErrRange},
		"inline and elements":  {SendWR{Op: OpSend, SGEs: []SGE{one}, Inline: []byte{}}, ErrInline},
		"other domain":         {SendWR{Op: OpSend, SGEs: []SGE{other.span(0, 1)}}, ErrForeign},
		"READ into read-only":  {SendWR{Op: OpRead, SGEs: []SGE{readOnly.span(0, 1)}}, ErrLocalAccess},
	} {
		if err := s.PostSend(1, &c.wr); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	s.wantSent("no side effect")
}

func TestRCSendQueueDrain(t *testing.T) {
	s := newRCScript(t, func(a *Attr) { a.Window = 2 })
	s.write(3)
	s.write(1)
	s.wantSent("the window", "WRITE_FIRST 0?", "WRITE_MIDDLE 1?")
	s.Modify(s.now, SQD, nil)
	s.wantEvents("not drained yet")
	s.ack(1)
	s.wantSent("what was started goes on, nothing new begins", "WRITE_LAST 2?")
	s.advanceToTimer()
	s.wantSent("and is sent again if lost", "WRITE_LAST 2?")
	s.ack(2)
	s.wantEvents("drained", EventSQDrained)
	s.write(1)
	s.Modify(s.now, SQD, nil)
	s.wantSent("still")
	s.wantEvents("once")
	s.request(wire.WriteOnly, 0, 4, nil)
	s.wantSent("the responder works on", "ACK 0")
	s.Modify(s.now, RTS, nil)
	s.wantSent("resumed", "WRITE_ONLY 3?", "WRITE_ONLY 4?")
	s.ack(4)
	s.Modify(s.now, SQD, nil)
	s.wantEvents("nothing was outstanding", EventSQDrained)
	s.wantCompletions("all", "1 SUCCESS", "2 SUCCESS", "3 SUCCESS")
}

// TestRCResetStartsAfresh: a second connection on the same queue pair knows
// nothing of the first.
func TestRCResetStartsAfresh(t *testing.T) {
	s := newRCScript(t, nil)
	s.request(wire.FetchAdd, 0, 0, nil)
	s.request(wire.WriteFirst, 1, 256, s.readLength(300))
	s.write(2)
	s.sent()
	attr := rcDefaults()
	attr.SendPSN, attr.RecvPSN = 100, 200
	for _, state := range []State{Reset, Init, RTR, RTS} {
		if err := s.Modify(s.now, state, &attr); err != nil {
			t.Fatal(err)
		}
	}
	s.write(1)
	s.wantSent("new numbers", "WRITE_ONLY 100?")
	if s.ack(1) != Drop {
		t.Error("an acknowledgement of the old connection was believed")
	}
	s.request(wire.FetchAdd, 199, 0, nil)
	s.wantSent("the record is empty")
	s.request(wire.WriteOnly, 200, 4, nil)
	s.wantSent("new message", "ACK 200")
}
