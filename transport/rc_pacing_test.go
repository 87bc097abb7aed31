package transport

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/braid-rdma/braid/wire"
)

// steadyRate is a rate control that does as it is told and remembers what it was told.
type steadyRate struct {
	bitsPerSecond float64
	notices       []Time
	packets       int
	bytes         int
}

func (r *steadyRate) OnCNP(now Time)        { r.notices = append(r.notices, now) }
func (r *steadyRate) OnSent(_ Time, n int)  { r.packets++; r.bytes += n }
func (r *steadyRate) Rate(now Time) float64 { return r.bitsPerSecond }

// newPacedScript is a scripted queue pair at 256 Mb/s with so much overhead that
// a full packet of a WRITE (12 bytes of headers in its middle, 256 of payload, 4 of
// ICRC and 48 of overhead) takes 10 µs.
func newPacedScript(t testing.TB, change func(*Attr)) (*rcScript, *steadyRate) {
	t.Helper()
	rate := &steadyRate{bitsPerSecond: 256e6}
	attr := rcDefaults()
	attr.Timeout = 20
	if change != nil {
		change(&attr)
	}
	e := newRCEndWith(t, attr, RCOptions{Rate: func() RateControl { return rate }, Overhead: 48})
	return &rcScript{rcEnd: e, now: Second}, rate
}

// timeline runs an end by its own timers and returns what it sent and when, in
// µs from the beginning, up to a duration.
func (s *rcScript) timeline(d Time) []string {
	s.t.Helper()
	start := s.now
	var out []string
	for {
		for _, what := range s.sent() {
			out = append(out, fmt.Sprintf("%g %s", float64(s.now-start)/1000, what))
		}
		if s.Timeout() > start+d {
			s.now = start + d
			return out
		}
		s.now = max(s.now, s.Timeout())
		s.HandleTimeout(s.now)
	}
}

func (s *rcScript) wantTimeline(why string, d Time, want ...string) {
	s.t.Helper()
	if got := s.timeline(d); !slices.Equal(got, want) {
		s.t.Fatalf("%s:\nsent %q\nwant %q", why, got, want)
	}
}

// Requests leave at the rate; the first packet of a WRITE has a longer header.
func TestRCPacesRequests(t *testing.T) {
	s, rate := newPacedScript(t, nil)
	s.write(4)
	s.wantTimeline("each packet takes its time", 100*Microsecond,
		"0 WRITE_FIRST 0?", "10.5 WRITE_MIDDLE 1", "20.5 WRITE_MIDDLE 2", "30.5 WRITE_LAST 3?")
	if rate.packets != 4 || rate.bytes != 4*320+16 {
		t.Errorf("the control was told of %d packets with %d bytes", rate.packets, rate.bytes)
	}
	s.write(2)
	s.wantTimeline("no burst after an idle time", 20*Microsecond, "0 WRITE_FIRST 4", "10.5 WRITE_LAST 5?")
}

// What is sent again is paced like what is new.
func TestRCPacesRetransmissions(t *testing.T) {
	s, _ := newPacedScript(t, nil)
	s.write(3)
	s.timeline(50 * Microsecond)
	s.nak(1, wire.NakPSNSequence)
	s.wantTimeline("from the lost packet on", 50*Microsecond, "0 WRITE_MIDDLE 1", "10 WRITE_LAST 2?")
}

func TestRCPacesReadResponses(t *testing.T) {
	s, _ := newPacedScript(t, nil)
	s.request(wire.ReadRequest, 0, 0, s.readLength(3*256))
	s.wantTimeline("the first has an AETH of four bytes", 50*Microsecond,
		"0 READ_RESPONSE_FIRST 0", "10.125 READ_RESPONSE_MIDDLE 1", "20.125 READ_RESPONSE_LAST 2")
}

// Acknowledgements, responses to atomics and congestion notices never wait.
func TestRCDoesNotPaceAcknowledgements(t *testing.T) {
	s, _ := newPacedScript(t, nil)
	s.write(2)
	s.wantSent("the first packet", "WRITE_FIRST 0?")
	s.request(wire.WriteOnly, 0, 4, func(p *Packet) { p.Marked = true })
	s.wantSent("at once", "CNP 0", "ACK 0")
	s.request(wire.FetchAdd, 1, 0, nil)
	s.wantSent("at once", "ATOMIC_ACKNOWLEDGE 1")
	s.wantTimeline("the request in its turn", 20*Microsecond, "10.5 WRITE_LAST 1?")
}

// The rate control is told of congestion notices.
func TestRCTellsRateControlOfNotices(t *testing.T) {
	s, rate := newPacedScript(t, nil)
	s.response(wire.CNP, 0, 0, nil)
	if !slices.Equal(rate.notices, []Time{s.now}) {
		t.Errorf("notices at %v", rate.notices)
	}
}

// Nobody waits for a pacer that has nothing to hold back.
func TestRCPacerArmsNoIdleTimer(t *testing.T) {
	s, _ := newPacedScript(t, func(a *Attr) { a.Timeout = 0 })
	s.write(1)
	s.wantSent("at once", "WRITE_ONLY 0?")
	if at := s.Timeout(); at != Never {
		t.Errorf("a timer for %d with nothing to send", at)
	}
	s.write(1)
	s.wantSent("too early")
	s.now = s.Timeout()
	s.wantSent("an engine may send before it runs the timers", "WRITE_ONLY 1?")
	if at := s.Timeout(); at != Never {
		t.Errorf("a timer for %d, now is %d", at, s.now)
	}
}

// Each connection begins with a control of its own.
func TestRCRateControlIsFreshAfterReset(t *testing.T) {
	made := 0
	attr := rcDefaults()
	e := newRCEndWith(t, attr, RCOptions{Rate: func() RateControl { made++; return &steadyRate{bitsPerSecond: 1e9} }})
	for _, to := range []State{Reset, Init, RTR, RTS} {
		if err := e.Modify(1, to, &attr); err != nil {
			t.Fatal(err)
		}
	}
	if made != 2 {
		t.Errorf("%d controls for two connections", made)
	}
}

// A paced conversation with losses ends with the right bytes.
func TestRCPacedTransferIsComplete(t *testing.T) {
	for _, recovery := range []Recovery{GoBackN, GoBackZero} {
		p := newRCPairWith(t, nil, func() RCOptions {
			o := DCQCNAuthors(10e9).Options()
			o.Recovery = recovery
			return o
		}())
		n := 0
		p.copies = func(*rcEnd, *Packet) int {
			if n++; n%61 == 0 {
				return 0
			}
			return 1
		}
		fill(p.a.region.Bytes[:32000], 1)
		p.a.post(SendWR{Op: OpWrite, SGEs: []SGE{p.a.region.span(0, 8000)}, RemoteAddr: p.b.region.Base, RKey: p.b.region.RKey})
		p.a.post(SendWR{Op: OpRead, SGEs: []SGE{p.a.region.span(40000, 8000)}, RemoteAddr: p.b.region.Base, RKey: p.b.region.RKey})
		p.settle()
		p.a.wantCompletions("both", "1 SUCCESS", "2 SUCCESS")
		wantBytes(t, "written", p.b.region.Bytes[:8000], p.a.region.Bytes[:8000])
		wantBytes(t, "read back", p.a.region.Bytes[40000:48000], p.a.region.Bytes[:8000])
	}
}

func TestRCPacingAllocatesNothing(t *testing.T) {
	p := newRCPairWith(t, nil, DCQCNHPCC(10e9).Options())
	wr := SendWR{Op: OpWrite, SGEs: []SGE{p.a.region.span(0, 8000)}, RemoteAddr: p.b.region.Base, RKey: p.b.region.RKey}
	var c Completion
	once := func() {
		if err := p.a.PostSend(p.now, &wr); err != nil {
			t.Fatal(err)
		}
		p.a.HandlePacket(p.now, &Packet{Headers: wire.Headers{BTH: wire.BTH{Opcode: wire.CNP}}})
		p.settle()
		p.a.PollCompletion(&c)
	}
	for range 50 {
		once()
	}
	if got := testing.AllocsPerRun(50, once); got != 0 {
		t.Errorf("%v allocations per operation", got)
	}
}

func TestRCOptionsAreChecked(t *testing.T) {
	for name, o := range map[string]RCOptions{
		"recovery": {Recovery: GoBackZero + 1}, "notices": {Notices: NoticesInAcks + 1}, "interval": {CNPInterval: -1},
		"overhead": {Overhead: -1}, "too much overhead": {Overhead: maxOverhead + 1},
	} {
		cfg := rcConfig(newTestMemory())
		cfg.RC = o
		if _, err := NewRC(cfg); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

// The interval of congestion notices is an option.
func TestRCNoticeIntervalIsAnOption(t *testing.T) {
	s := &rcScript{rcEnd: newRCEndWith(t, rcDefaults(), RCOptions{CNPInterval: 4 * time.Microsecond}), now: Second}
	marked := func(p *Packet) { p.Marked, p.AckReq = true, false }
	for i, want := range []int{1, 1, 2} {
		s.request(wire.WriteOnly, wire.PSN(i), 4, marked)
		s.sent()
		if got := s.Counters().CNPSent; got != uint64(want) {
			t.Errorf("%d notices after %d marks, want %d", got, i+1, want)
		}
		s.now += 2 * Microsecond
	}
}

// The ns-3 code of DCQCN's authors polls every 50 µs from the first packet on.
func TestRCNoticesByPolling(t *testing.T) {
	o := RCOptions{Notices: PolledNotices, CNPInterval: 50 * time.Microsecond}
	s := &rcScript{rcEnd: newRCEndWith(t, rcDefaults(), o), now: Second}
	psn := wire.PSN(0)
	write := func(at Time, marked bool) {
		s.now = Second + at*Microsecond
		s.request(wire.WriteOnly, psn, 4, func(p *Packet) { p.Marked, p.AckReq = marked, false })
		psn++
	}
	poll := func(at Time) {
		t.Helper()
		if want := Second + at*Microsecond; s.Timeout() != want {
			t.Fatalf("the next poll is at %d, want %d", s.Timeout(), want)
		}
		s.wantSent("too early")
		s.now = s.Timeout()
		s.HandleTimeout(s.now)
		s.wantSent("one notice for all marks since the last poll", "CNP 0")
	}
	write(0, false) // polls are at 50, 100, 150 µs
	write(20, true)
	write(40, true)
	poll(50)
	write(50, true) // at the instant of a poll counts for the next
	poll(100)
	write(130, false)
	if s.Timeout() != Never {
		t.Fatalf("a poll at %d that will see no mark", s.Timeout())
	}
	write(1234, true)
	poll(1250)
	if c := s.Counters(); c.CNPSent != 3 || c.ECNMarked != 4 {
		t.Errorf("%d notices for %d marks", c.CNPSent, c.ECNMarked)
	}
}

// The first poll is at the first packet.
func TestRCPollsAtTheFirstPacket(t *testing.T) {
	s := &rcScript{rcEnd: newRCEndWith(t, rcDefaults(), RCOptions{Notices: PolledNotices}), now: Second}
	s.request(wire.WriteOnly, 0, 4, func(p *Packet) { p.Marked, p.AckReq = true, false })
	s.wantSent("at once", "CNP 0")
}

// HPCC's ns-3 code acknowledges every packet and says in the acknowledgement of a marked one
// that it was marked.
func TestRCNoticesInAcks(t *testing.T) {
	s := &rcScript{rcEnd: newRCEndWith(t, rcDefaults(), DCQCNHPCC(10e9).Options()), now: Second}
	for psn, marked := range []bool{true, false, true} {
		s.request(wire.WriteOnly, wire.PSN(psn), 4, func(p *Packet) { p.Marked, p.AckReq = marked, true })
		s.wantSent("each is acknowledged, without a notice beside", fmt.Sprintf("ACK %d", psn))
		if s.packet.BECN != marked {
			t.Errorf("packet %d: BECN %v, marked %v", psn, s.packet.BECN, marked)
		}
	}
	s.write(3)
	for range 3 {
		s.now += Millisecond
		if !s.PollTransmit(s.now, &s.packet) || !s.packet.AckReq {
			t.Fatal("a packet does not ask for an acknowledgement")
		}
	}
	for psn, becn := range []bool{false, true, true} {
		s.response(wire.Acknowledge, wire.PSN(psn), 0, func(p *Packet) { p.BECN = becn })
	}
	if got := s.Counters().CNPHandled; got != 2 {
		t.Errorf("%d notices taken from acknowledgements, want 2", got)
	}
}

// A mark on an acknowledgement says nothing about what the peer sends at its rate.
func TestRCIgnoresMarksOnAcks(t *testing.T) {
	s := newRCScript(t, nil)
	s.write(1)
	s.sent()
	s.response(wire.Acknowledge, 0, 0, func(p *Packet) { p.Marked = true })
	s.wantSent("no notice")
	if got := s.Counters().ECNMarked; got != 0 {
		t.Errorf("%d marks", got)
	}
}
