package monitor

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"
)

// serveMesh serves what the monitor knows: all in small, and parts of it in full. With thousands of hosts the whole mesh is too much for a page.
func (p *Page) serveMesh(mux *http.ServeMux) {
	m := p.monitor
	mux.Handle("GET /api/state", p.forReaders(&shared{monitor: m, make: func() any { return m.State() }}))
	mux.Handle("GET /api/racks", p.forReaders(&shared{monitor: m, make: func() any { return m.Racks() }}))
	mux.HandleFunc("GET /api/mesh", p.reader(func(r *http.Request, _ visitor) (any, error) {
		q := r.URL.Query()
		return m.Between(q.Get("from"), q.Get("to")), nil
	}))
	mux.HandleFunc("GET /api/host", p.reader(func(r *http.Request, _ visitor) (any, error) {
		view := m.HostView(r.URL.Query().Get("name"))
		if view == nil {
			return nil, fail(http.StatusNotFound, "no agent of this name has joined")
		}
		return view, nil
	}))
}

// document is JSON, as it is and compressed.
type document struct{ text, compressed []byte }

func newDocument(v any) (*document, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	if _, err = z.Write(text); err == nil {
		err = z.Close()
	}
	return &document{text, packed.Bytes()}, err
}

// send writes a document as the reader likes it.
func (d *document) send(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Vary", "Accept-Encoding")
	text := d.text
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.Header().Set("Content-Encoding", "gzip")
		text = d.compressed
	}
	_, _ = w.Write(text) // whoever asked may be gone
}

// sharedFor is for how long a document is told again while there is no news.
const sharedFor = time.Second

// shared is a document that all readers of about the same time get: they all ask when there is news.
type shared struct {
	monitor *Monitor
	make    func() any

	mu     sync.Mutex
	last   *document
	number uint64 // of the news that it has
	at     time.Time
}

func (s *shared) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d, err := s.current()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	d.send(w, r)
}

// current is a document that has the latest news.
func (s *shared) current() (*document, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, number := s.monitor.newsAfter()
	if s.last != nil && s.number == number && time.Since(s.at) < sharedFor {
		return s.last, nil
	}
	at := time.Now()
	d, err := newDocument(s.make())
	if err == nil {
		s.last, s.number, s.at = d, number, at
	}
	return d, err
}
