package braid

import (
	"encoding/json"
	"net/netip"
	"testing"
	"time"
)

// The text is a table with a bar that moves on with the time.
func TestTraceString(t *testing.T) {
	tr := &Trace{
		Role: RoleCaller, Mode: TraceReqRsp, Number: 7, Bytes: 64, ReplyBytes: 9, Total: 100 * time.Microsecond, Place: "main.f (f.go:1)", Err: "too late",
		Local: netip.MustParseAddrPort("10.0.0.1:1"), Remote: netip.MustParseAddrPort("10.0.0.2:2"), Clock: ClockOffset{-time.Second, time.Microsecond},
		Segments: []Segment{{PhaseWire, 25 * time.Microsecond}, {PhaseHandler, 50 * time.Microsecond}, {PhaseWireBack, 25 * time.Microsecond}, {PhaseDeliver, 0}},
	}
	want := `caller of call 7, 10.0.0.1:1 - 10.0.0.2:2, 64 B, response 9 B: 100µs in req-rsp mode, main.f (f.go:1), failed: too late
  wire               25µs  25%  |==========                               |
  handler            50µs  50%  |          ====================           |
  wire back          25µs  25%  |                              ========== |
  deliver              0s   0%  |                                        =|
  the peer's clock is ahead by -1s ± 1µs
`
	if got := tr.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestTraceJSON(t *testing.T) {
	a, b, _ := tracedPair(t, Config{}, Config{})
	serveOn(t, b, echo)
	m, tr, err := a.TraceCall(soon(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	m.Release()
	tr.Parent = SpanContext{TraceID: [16]byte{1}, SpanID: [8]byte{2}, Flags: 1}
	text, err := json.Marshal(&Slow{At: tr.Start, Phase: PhaseWire, Took: tr.Total, Trace: tr})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s", text)
	var got Slow
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if again, err := json.Marshal(&got); err != nil || string(again) != string(text) {
		t.Errorf("there and back: %s, want %s (%v)", again, text, err)
	}
	for _, bad := range []string{`{"phase":"sleep"}`, `{"mode":"full"}`, `{"span":"00-1-2-3"}`} {
		var s Slow
		var tr Trace
		if json.Unmarshal([]byte(bad), &s) == nil && json.Unmarshal([]byte(bad), &tr) == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}
