package session

import (
	"errors"
	"math"
	"testing"
	"time"
)

func TestTraceExtension(t *testing.T) {
	request := Trace{Posted: 7, Offset: -3, Bound: -1, Span: Span{TraceID: [16]byte{1, 15: 2}, SpanID: [8]byte{3, 7: 4}, Flags: 1}}
	alone := Trace{Posted: 7, Offset: -3, Bound: 5} // it belongs to no span, which costs no bytes
	response := Trace{Posted: 9, Arrived: 1, Complete: 2, Started: 3, Ended: math.MaxInt64}
	for _, h := range []header{
		{kind: Oneway, trace: &request},
		{kind: Request, call: 5, trace: &request},
		{kind: Request, call: 5, trace: &alone},
		{kind: Request, call: 5, large: true, source: Source{Addr: 1 << 40, RKey: 7}, length: 1 << 20, trace: &request},
		{kind: Response, call: 5, trace: &response},
		{kind: Failure, call: 5, large: true, length: 8000, trace: &response},
	} {
		b := h.append(nil)
		if len(b) > MaxHeader {
			t.Errorf("kind %d: a header of %d bytes, MaxHeader is %d", h.kind, len(b), MaxHeader)
		}
		var got header
		earlier := request // the memory that the extension is read into
		rest, err := got.parse(append(b, "payload"...), &earlier)
		if err != nil || string(rest) != "payload" {
			t.Fatalf("kind %d: %q, %v", h.kind, rest, err)
		}
		if got.trace == nil || *got.trace != *h.trace {
			t.Errorf("kind %d: %+v, want %+v", h.kind, got.trace, h.trace)
		}
		got.trace, h.trace = nil, nil
		if got != h {
			t.Errorf("%+v, want %+v", got, h)
		}
		// An extension that is cut, or that the length of the header leaves out.
		for cut := shortHeader; cut < len(b); cut++ {
			if _, err := got.parse(b[:cut], new(Trace)); !errors.Is(err, ErrPeer) {
				t.Errorf("kind %d, %d of %d bytes: %v", h.kind, cut, len(b), err)
			}
		}
		b[3] -= 8
		if _, err := got.parse(b, new(Trace)); !errors.Is(err, ErrPeer) {
			t.Errorf("kind %d: an extension that is too short: %v", h.kind, err)
		}
	}
}

func TestTraceWithoutSpanIsShort(t *testing.T) {
	for kind, want := range map[Kind]int{Oneway: 24, Request: 24, Response: 40} {
		with, without := header{kind: kind, trace: &Trace{}}, header{kind: kind}
		if n := with.size() - without.size(); n != want {
			t.Errorf("kind %d: %d bytes, want %d", kind, n, want)
		}
	}
}

func TestTracePlausible(t *testing.T) {
	good := Trace{Arrived: 1010, Complete: 1010, Started: 1020, Ended: 1030, Posted: 1040}
	if !good.Plausible(0, 100) {
		t.Error("a good one is refused")
	}
	for name, lie := range map[string]func(*Trace){
		"ended before it started":   func(t *Trace) { t.Ended = 1015 },
		"posted before it arrived":  func(t *Trace) { t.Posted = 1000 },
		"complete before it came":   func(t *Trace) { t.Complete = 1000 },
		"longer than the round":     func(t *Trace) { t.Posted = 1111 },
		"times at the end of time":  func(t *Trace) { t.Posted = math.MaxInt64 },
		"times at the start of all": func(t *Trace) { t.Arrived = math.MinInt64 },
	} {
		bad := good
		lie(&bad)
		if bad.Plausible(0, 100) {
			t.Errorf("%s: believed", name)
		}
	}
}

func TestTraceWire(t *testing.T) {
	for name, test := range map[string]struct {
		Trace
		want time.Duration
		ok   bool
	}{
		"known":                 {Trace{Posted: 900, Offset: 50, Bound: 10}, 50, true},
		"earlier, by the error": {Trace{Posted: 900, Offset: 105, Bound: 10}, 0, true},
		"no estimate":           {Trace{Posted: 900, Bound: -1}, 0, false},
		"in the future":         {Trace{Posted: 2000, Bound: 10}, 0, false},
		"before we were there":  {Trace{Posted: 1, Bound: 10}, 0, false},
		"no time at all":        {Trace{Posted: math.MinInt64, Offset: math.MinInt64, Bound: 1}, 0, false},
		"overflow":              {Trace{Posted: math.MaxInt64, Offset: math.MaxInt64, Bound: math.MaxInt64}, 0, false},
	} {
		if got, ok := test.Wire(1000, 500); got != test.want || ok != test.ok {
			t.Errorf("%s: %v, %v", name, got, ok)
		}
	}
}
