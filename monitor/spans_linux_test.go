package monitor

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"github.com/braid-rdma/braid/internal/otlp"
)

// sent is what a collector is sent, as far as the tests look at it.
type sent struct {
	ResourceSpans []struct {
		Resource struct {
			Attributes []struct {
				Key   string
				Value struct{ StringValue, IntValue string }
			}
		}
		ScopeSpans []struct{ Spans []sentSpan }
	}
}

type sentSpan struct {
	TraceID, SpanID, ParentSpanID, Name string
	Events                              []struct{ Name string }
}

// collecting is an OpenTelemetry collector that takes spans once it is open.
type collecting struct {
	mu     sync.Mutex
	open   bool
	asked  int
	spans  []sentSpan
	hosts  []string
	server *httptest.Server
}

func newCollecting(t *testing.T) *collecting {
	t.Helper()
	c := &collecting{}
	c.server = httptest.NewServer(c)
	t.Cleanup(c.server.Close)
	return c
}

func (c *collecting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var all sent
	err := json.NewDecoder(r.Body).Decode(&all)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked++
	if !c.open || err != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	for _, one := range all.ResourceSpans {
		for _, a := range one.Resource.Attributes {
			if a.Key == "host.name" {
				c.hosts = append(c.hosts, a.Value.StringValue)
			}
		}
		for _, s := range one.ScopeSpans {
			c.spans = append(c.spans, s.Spans...)
		}
	}
}

// with does something with what the collector has.
func (c *collecting) with(do func() bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return do()
}

// TestSpans has an agent tell a collector of the messages between two programs: the span of a handler is a child of its caller's, though
// the two are told apart from each other. A collector that is away gets them when it is back, each once.
func TestSpans(t *testing.T) {
	conversation(t)
	m := quick(t, t.TempDir())
	a := newMachine(t, m, "a", "r1")
	a.stop()
	c := newCollecting(t)
	a.cfg.Collector = c.server.URL
	a.start(t)
	eventually(t, "the collector is asked", func() bool { return c.with(func() bool { return c.asked > 1 }) })
	c.with(func() bool { c.open = true; return true })
	eventually(t, "a call and its handler are one trace", func() bool {
		return c.with(func() bool {
			return slices.ContainsFunc(c.spans, func(h sentSpan) bool {
				return h.Name == "braid.handle" && slices.ContainsFunc(h.Events, func(e struct{ Name string }) bool { return e.Name == "handler" }) &&
					slices.ContainsFunc(c.spans, func(s sentSpan) bool {
						return s.Name == "braid.call" && s.TraceID == h.TraceID && s.SpanID == h.ParentSpanID
					})
			})
		})
	})
	c.with(func() bool {
		seen := map[string]bool{}
		for _, s := range c.spans {
			if seen[s.SpanID] {
				t.Errorf("span %+v is told twice", s)
			}
			seen[s.SpanID] = true
		}
		if slices.Contains(c.hosts, "") || !slices.Contains(c.hosts, "a") {
			t.Errorf("hosts %q", c.hosts)
		}
		return true
	})
}

// TestSpansOfPrograms checks that a trace for which a program has a span of its own is left to it, and whose child a handler is whose
// caller has one.
func TestSpansOfPrograms(t *testing.T) {
	t.Parallel()
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	if _, ok := (&traced{Role: "caller", Span: parent}).span(); ok {
		t.Error("it is told twice")
	}
	if _, ok := (&traced{Role: "cook"}).span(); ok {
		t.Error("what is a cook?")
	}
	s, ok := (&traced{Role: "handler", Parent: parent, Number: 7}).span()
	text, err := json.Marshal(s)
	must(t, err)
	var told sentSpan
	must(t, json.Unmarshal(text, &told))
	if !ok || told.TraceID != "0af7651916cd43dd8448eb211c80319c" || told.ParentSpanID != "b7ad6b7169203331" {
		t.Errorf("%+v", told)
	}
}

// TestSpansAreBounded checks that a collector that is away costs no more memory than the latest spans.
func TestSpansAreBounded(t *testing.T) {
	t.Parallel()
	s, err := newSpans("http://127.0.0.1:9", "", "a", testLog(t))
	must(t, err)
	for range 3 * maxSpans / 64 {
		s.add(otlp.Batch{Spans: make([]otlp.Span, 64)})
	}
	if s.count != maxSpans || s.lost != 2*maxSpans {
		t.Errorf("%d wait, %d are lost", s.count, s.lost)
	}
	if err := s.export(t.Context()); err == nil || s.count != maxSpans {
		t.Errorf("%v: %d wait", err, s.count)
	}
}
