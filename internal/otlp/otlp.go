// Package otlp sends spans to an OpenTelemetry collector, by OTLP over HTTP as JSON. The SDK's exporter would bring gRPC and its
// gateway with it, for one POST.
package otlp

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// maxReply is how much of a collector's reply is read.
const maxReply = 4 << 10

// Kind is the part of a span in what it belongs to, with the numbers of the protocol.
type Kind int

// The kinds that braid has.
const (
	Server   Kind = 2
	Client   Kind = 3
	Producer Kind = 4
	Consumer Kind = 5
)

// statusError is the protocol's number of a span that failed.
const statusError = 2

// ID is that of a trace or of a span; none if it is empty.
type ID []byte

// MarshalText implements encoding.TextMarshaler.
func (id ID) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, id), nil }

// Time is an instant.
type Time time.Time

// MarshalText implements encoding.TextMarshaler: nanoseconds since 1970.
func (t Time) MarshalText() ([]byte, error) {
	return strconv.AppendInt(nil, time.Time(t).UnixNano(), 10), nil
}

// Attribute is something that is known.
type Attribute struct {
	Key   string `json:"key"`
	Value value  `json:"value"`
}

type value struct {
	String *string `json:"stringValue,omitempty"`
	Int    *string `json:"intValue,omitempty"` // the protocol has 64 bits as text
}

// String is an attribute that is a text.
func String(key, text string) Attribute { return Attribute{key, value{String: &text}} }

// Int is an attribute that is a number.
func Int(key string, n int64) Attribute {
	text := strconv.FormatInt(n, 10)
	return Attribute{key, value{Int: &text}}
}

// Event is something that happened in a span.
type Event struct {
	At         Time        `json:"timeUnixNano"`
	Name       string      `json:"name"`
	Attributes []Attribute `json:"attributes,omitempty"`
}

// Span is a piece of work.
type Span struct {
	Trace      ID          `json:"traceId"`
	ID         ID          `json:"spanId"`
	Parent     ID          `json:"parentSpanId,omitempty"`
	Name       string      `json:"name"`
	Kind       Kind        `json:"kind"`
	Start      Time        `json:"startTimeUnixNano"`
	End        Time        `json:"endTimeUnixNano"`
	Attributes []Attribute `json:"attributes,omitempty"`
	Events     []Event     `json:"events,omitempty"`
	Status     Status      `json:"status,omitzero"`
}

// Status is how a span ended; the zero value says nothing.
type Status struct {
	Code    int    `json:"code"`
	Message string `json:"message,omitempty"`
}

// Failed is the status of a span that failed.
func Failed(why string) Status { return Status{statusError, why} }

// Batch are spans of one program.
type Batch struct {
	Resource []Attribute // of the program
	Spans    []Span
}

// The protocol's nesting (opentelemetry.proto.trace.v1).
type (
	request struct {
		ResourceSpans []resourceSpans `json:"resourceSpans"`
	}
	resource struct {
		Attributes []Attribute `json:"attributes"`
	}
	scope struct {
		Name string `json:"name"`
	}
	scopeSpans struct {
		Scope scope  `json:"scope"`
		Spans []Span `json:"spans"`
	}
	resourceSpans struct {
		Resource   resource     `json:"resource"`
		ScopeSpans []scopeSpans `json:"scopeSpans"`
	}
)

// reply is what a collector says of spans that it did not take.
type reply struct {
	PartialSuccess struct {
		RejectedSpans json.Number `json:"rejectedSpans"`
		ErrorMessage  string      `json:"errorMessage"`
	} `json:"partialSuccess"`
}

// Exporter sends to one collector.
type Exporter struct {
	url    string
	scope  string
	header http.Header
}

// New is an exporter to an endpoint such as http://127.0.0.1:4318, to whose path v1/traces is added as OpenTelemetry has it. The scope is the
// name of who made the spans. Headers, such as those with a key of the collector, are "name=value,name=value" with values escaped as in
// URLs, the form of OTEL_EXPORTER_OTLP_HEADERS.
func New(endpoint, scope, headers string) (*Exporter, error) {
	u, err := url.Parse(endpoint)
	if err != nil {
		return nil, err
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%s: want http://HOST:4318 or https://HOST", u.Redacted())
	}
	e := &Exporter{u.JoinPath("v1", "traces").String(), scope, http.Header{"Content-Type": {"application/json"}}}
	for pair := range strings.SplitSeq(headers, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, text, ok := strings.Cut(pair, "=")
		text, err := url.PathUnescape(strings.TrimSpace(text))
		if !ok || err != nil {
			return nil, errors.New("headers: want NAME=VALUE,NAME=VALUE") // what is wrong with them may be a secret
		}
		e.header.Add(strings.TrimSpace(name), text)
	}
	return e, nil
}

// ErrRejected means that the collector did not take some spans, and never will.
var ErrRejected = errors.New("spans are rejected")

// Export sends batches. Any error but ErrRejected may be gone later.
func (e *Exporter) Export(ctx context.Context, batches []Batch) error {
	q := request{}
	for _, b := range batches {
		q.ResourceSpans = append(q.ResourceSpans, resourceSpans{resource{b.Resource}, []scopeSpans{{scope{e.scope}, b.Spans}}})
	}
	text, err := json.Marshal(q)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(text))
	if err != nil {
		return err
	}
	r.Header = e.header.Clone()
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	says, err := io.ReadAll(io.LimitReader(response.Body, maxReply))
	if err != nil {
		return err
	}
	return judge(response, says)
}

// judge says what became of a request. Which ones may be sent again is what the protocol says.
func judge(response *http.Response, says []byte) error {
	switch response.StatusCode {
	case http.StatusOK:
		var r reply
		if json.Unmarshal(says, &r) == nil && r.PartialSuccess.RejectedSpans != "" && r.PartialSuccess.RejectedSpans != "0" {
			return fmt.Errorf("%w: %s of them, %q", ErrRejected, r.PartialSuccess.RejectedSpans, r.PartialSuccess.ErrorMessage)
		}
		return nil
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return errors.New(response.Status)
	}
	return fmt.Errorf("%w: %s", ErrRejected, response.Status)
}
