package otlp

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestExport checks what a collector is sent, byte by byte: names, and which values are text.
func TestExport(t *testing.T) {
	var got, path, key, kind string
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		got, path, key, kind = string(text), r.URL.Path, r.Header.Get("Api-Key"), r.Header.Get("Content-Type")
	}))
	defer s.Close()
	e, err := New(s.URL+"/base/", "scope", "api-key=a%20b, other=c")
	if err != nil {
		t.Fatal(err)
	}
	span := Span{
		Trace: ID{0: 0x5b, 15: 1}, ID: ID{0: 0xee, 7: 2}, Name: "braid.call", Kind: Client, Start: Time(time.Unix(1, 5)), End: Time(time.Unix(2, 0)),
		Attributes: []Attribute{Int("n", 1<<60)}, Events: []Event{{At: Time(time.Unix(1, 6)), Name: "wire"}}, Status: Failed("why"),
	}
	child := Span{Trace: span.Trace, ID: ID{7: 3}, Parent: span.ID, Name: "braid.handle", Kind: Server, Start: span.Start, End: span.End}
	if err := e.Export(t.Context(), []Batch{{[]Attribute{String("service.name", "a")}, []Span{span, child}}}); err != nil {
		t.Fatal(err)
	}
	const want = `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"a"}}]},"scopeSpans":[{"scope":{"name":"scope"},"spans":[` +
		`{"traceId":"5b000000000000000000000000000001","spanId":"ee00000000000002","name":"braid.call","kind":3,"startTimeUnixNano":"1000000005","endTimeUnixNano":"2000000000",` +
		`"attributes":[{"key":"n","value":{"intValue":"1152921504606846976"}}],"events":[{"timeUnixNano":"1000000006","name":"wire"}],"status":{"code":2,"message":"why"}},` +
		`{"traceId":"5b000000000000000000000000000001","spanId":"0000000000000003","parentSpanId":"ee00000000000002","name":"braid.handle","kind":2,` +
		`"startTimeUnixNano":"1000000005","endTimeUnixNano":"2000000000"}]}]}]}`
	if got != want {
		t.Errorf("sent\n%s\nwant\n%s", got, want)
	}
	if path != "/base/v1/traces" || key != "a b" || kind != "application/json" {
		t.Errorf("to %s with key %q as %s", path, key, kind)
	}
}

// TestReplies checks which refusals are for ever.
func TestReplies(t *testing.T) {
	for _, test := range []struct {
		status         int
		says           string
		fine, rejected bool
	}{
		{200, "", true, false},
		{200, `{"partialSuccess":{"rejectedSpans":"0"}}`, true, false},
		{200, `{"partialSuccess":{"rejectedSpans":"3","errorMessage":"no"}}`, false, true},
		{400, "", false, true},
		{401, "", false, true},
		{429, "", false, false},
		{503, strings.Repeat("x", 1<<20), false, false},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(test.status)
			_, _ = io.WriteString(w, test.says)
		}))
		e, err := New(s.URL, "scope", "")
		if err != nil {
			t.Fatal(err)
		}
		err = e.Export(t.Context(), []Batch{{}})
		if (err == nil) != test.fine || errors.Is(err, ErrRejected) != test.rejected {
			t.Errorf("%d %.60s: %v", test.status, test.says, err)
		}
		s.Close()
		if err := e.Export(t.Context(), nil); err == nil || errors.Is(err, ErrRejected) {
			t.Errorf("nobody is there: %v", err)
		}
	}
}

func TestBadEndpoints(t *testing.T) {
	for _, test := range [][2]string{{"127.0.0.1:4318", ""}, {"ftp://a", ""}, {"http://", ""}, {"::", ""}, {"http://a", "name"}, {"http://a", "name=%zz"}} {
		if _, err := New(test[0], "", test[1]); err == nil {
			t.Errorf("%q is taken", test)
		} else if test[1] != "" && strings.Contains(err.Error(), test[1]) {
			t.Errorf("%v tells a secret", err)
		}
	}
}
