package qlog

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/wire"
)

// smallBuffer is quickly full.
const smallBuffer = 16 << 10

// memory is a file in memory; it may be slow or full.
type memory struct {
	bytes.Buffer
	hold  chan struct{} // if not nil, each write waits for it
	began chan struct{} // if not nil, each write says so
	err   error
}

func (m *memory) Write(b []byte) (int, error) {
	if m.began != nil {
		m.began <- struct{}{}
	}
	if m.hold != nil {
		<-m.hold
	}
	if m.err != nil {
		return 0, m.err
	}
	return m.Buffer.Write(b)
}

func (m *memory) Close() error { return nil }

// lines parses what was written, each line as an object.
func lines(t *testing.T, r io.Reader) []map[string]any {
	t.Helper()
	var all []map[string]any
	s := bufio.NewScanner(r)
	for s.Scan() {
		var o map[string]any
		if err := json.Unmarshal(s.Bytes(), &o); err != nil {
			t.Fatalf("%v in %s", err, s.Text())
		}
		all = append(all, o)
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestEveryKindHasItsLine(t *testing.T) {
	var out memory
	w := New(&out, Options{Title: `a "title"`})
	d := w.Device(`h"0`)
	events := []transport.TraceEvent{
		{Kind: transport.TraceSent, QPN: 0x11, Opcode: wire.WriteFirst, PSN: 7, Path: 3, Bytes: 256, Again: true},
		{Kind: transport.TraceReceived, QPN: 0x11, Opcode: wire.Acknowledge, PSN: 7, Syndrome: wire.NakPSNSequence, Marked: true},
		{Kind: transport.TraceAcked, PSN: 1, Packets: 4},
		{Kind: transport.TraceLost, PSN: 1, Packets: 4, Path: 2, Signal: transport.TimedOut},
		{Kind: transport.TraceWindow, Window: 16.25, InFlight: 3, RTT: 1000},
		{Kind: transport.TraceRate, Rate: 1e9},
		{Kind: transport.TraceRate, Rate: math.Inf(1)},
		{Kind: transport.TraceBlocked, Reason: transport.ReasonWindow},
		{Kind: transport.TraceState, State: transport.RTS},
	}
	for i, e := range events {
		d.Trace(transport.Time(i), e)
	}
	for k := transport.TraceSent; k.String() != "unknown"; k++ {
		d.Trace(100, transport.TraceEvent{Kind: k})
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	const want = `{"schema":"braid-trace/1","title":"a \"title\"","time_unit":"ns"}
{"time":0,"dev":"h\"0","qpn":"0x000011","name":"packet_sent","opcode":"RC_WRITE_FIRST","psn":7,"path":3,"bytes":256,"retransmission":true}
{"time":1,"dev":"h\"0","qpn":"0x000011","name":"packet_received","opcode":"RC_ACKNOWLEDGE","psn":7,"path":0,"bytes":0,"syndrome":"NAK_PSN_SEQUENCE","ecn_ce":true}
{"time":2,"dev":"h\"0","qpn":"0x000000","name":"packets_acked","psn":1,"packets":4,"path":0}
{"time":3,"dev":"h\"0","qpn":"0x000000","name":"packets_lost","psn":1,"packets":4,"path":2,"trigger":"timeout"}
{"time":4,"dev":"h\"0","qpn":"0x000000","name":"window_updated","cwnd":16.250,"peer_window":0,"in_flight":3,"smoothed_rtt":1000}
{"time":5,"dev":"h\"0","qpn":"0x000000","name":"rate_updated","rate":1000000000.000}
{"time":6,"dev":"h\"0","qpn":"0x000000","name":"rate_updated","rate":null}
{"time":7,"dev":"h\"0","qpn":"0x000000","name":"send_blocked","reason":"window-full"}
{"time":8,"dev":"h\"0","qpn":"0x000000","name":"state_updated","state":"RTS"}
`
	if got := out.String(); !strings.HasPrefix(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	names := map[any]bool{}
	for _, o := range lines(t, &out.Buffer)[1:] {
		names[o["name"]] = true
	}
	if len(names) != int(transport.TraceState)+1 {
		t.Errorf("%d kinds were written: %v", len(names), names)
	}
}

// A line is never longer than what is kept free for it.
func TestLinesFit(t *testing.T) {
	e := transport.TraceEvent{
		Reason: 255, State: 255, Signal: 255, Opcode: wire.Acknowledge, Syndrome: 255, Again: true, Marked: true, Path: 1<<16 - 1,
		QPN: 1<<32 - 1, PSN: 1<<32 - 1, Packets: 1<<32 - 1, Bytes: 1<<32 - 1, PeerWindow: 1<<32 - 1, InFlight: 1<<32 - 1,
		Window: -1e18, Rate: -1e18, RTT: -1 << 63,
	}
	for e.Kind = 0; e.Kind < 20; e.Kind++ {
		if b := appendEvent(nil, -1<<63, strings.Repeat("x", maxName), &e); len(b) > maxLine {
			t.Errorf("%v: %d bytes", e.Kind, len(b))
		}
	}
}

// A file that does not take what it is given costs events, not time, and says how many.
func TestSlowFileDropsEvents(t *testing.T) {
	out := memory{hold: make(chan struct{}), began: make(chan struct{}, 100)}
	w := newWriter(&out, Options{}, smallBuffer)
	d := w.Device("h0")
	w.signal()
	<-out.began // the header is being written, and will be for as long as we like
	const events = 3 * smallBuffer / 50
	for i := range events {
		d.Trace(transport.Time(i), transport.TraceEvent{Kind: transport.TraceProbed})
	}
	dropped := w.Dropped()
	if dropped == 0 || dropped == events {
		t.Fatalf("%d of %d events dropped", dropped, events)
	}
	out.hold <- struct{}{} // the header
	<-out.began            // and the next buffer is under way, so that there is room again
	d.Trace(events, transport.TraceEvent{Kind: transport.TraceProbed})
	close(out.hold)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	all := lines(t, &out.Buffer)[1:]
	told := all[len(all)-2]
	if told["name"] != "events_dropped" || uint64(told["count"].(float64)) != dropped {
		t.Errorf("%v, want a line that tells of %d events", told, dropped)
	}
	if uint64(len(all)-1)+dropped != events+1 {
		t.Errorf("%d lines and %d dropped of %d events", len(all)-1, dropped, events+1)
	}
}

// A simulation waits, and nothing is lost.
func TestLosslessWaits(t *testing.T) {
	var out memory
	w := newWriter(&out, Options{Lossless: true}, smallBuffer)
	const threads, each = 4, 1000
	var wg sync.WaitGroup
	for range threads {
		d := w.Device("h0")
		wg.Go(func() {
			for i := range each {
				d.Trace(transport.Time(i), transport.TraceEvent{Kind: transport.TraceProbed})
			}
		})
	}
	wg.Wait()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if n := len(lines(t, &out.Buffer)); n != 1+threads*each || w.Dropped() != 0 {
		t.Errorf("%d lines of %d events, %d dropped", n-1, threads*each, w.Dropped())
	}
}

// A full disk is reported at the end; whoever traces does not notice, nor wait.
func TestFullDisk(t *testing.T) {
	full := errors.New("no space left on device")
	for _, lossless := range []bool{false, true} {
		w := newWriter(&memory{err: full}, Options{Lossless: lossless}, smallBuffer)
		d := w.Device("h0")
		for i := range 4 * smallBuffer / 50 {
			d.Trace(transport.Time(i), transport.TraceEvent{Kind: transport.TraceProbed})
		}
		if err := w.Close(); !errors.Is(err, full) {
			t.Errorf("lossless %v: %v", lossless, err)
		}
		d.Trace(1, transport.TraceEvent{}) // after the end, it is only counted
		if w.Dropped() == 0 {
			t.Errorf("lossless %v: nothing dropped", lossless)
		}
	}
}

func TestTraceDoesNotAllocate(t *testing.T) {
	w := New(&memory{}, Options{})
	defer w.Close()
	d := w.Device("h0")
	e := transport.TraceEvent{Kind: transport.TraceSent, Opcode: wire.SendOnly, PSN: 7, Bytes: 64}
	if n := testing.AllocsPerRun(1000, func() { d.Trace(1, e) }); n != 0 {
		t.Errorf("%v allocations per event", n)
	}
}

func BenchmarkTrace(b *testing.B) {
	w := New(&memory{}, Options{})
	defer w.Close()
	d := w.Device("h0")
	for i := range b.N {
		d.Trace(transport.Time(i), transport.TraceEvent{Kind: transport.TraceSent, Opcode: wire.SendOnly, PSN: 7, Bytes: 64})
	}
}
