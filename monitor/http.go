package monitor

import (
	"embed"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

//go:embed web
var web embed.FS

// maxReaders is how many pages may wait for news.
const maxReaders = 100

// Page is the monitor for people, over HTTP: read-only, and for this machine alone.
type Page struct {
	monitor  *Monitor
	listener net.Listener
	server   *http.Server
	done     chan struct{}
	running  sync.WaitGroup

	mu      sync.Mutex
	readers int
}

// ServePage serves the page at an address of this machine: it asks nobody who they are, so that nobody else may reach it.
func (m *Monitor) ServePage(address string) (*Page, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if ip, err := netip.ParseAddr(host); host != "localhost" && (err != nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("monitor: the page is for loopback addresses, not %q: reach it from elsewhere through ssh", host)
	}
	files, err := fs.Sub(web, "web")
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("monitor: %w", err)
	}
	p := &Page{monitor: m, listener: l, done: make(chan struct{})}
	mux := http.NewServeMux()
	p.serveMesh(mux)
	mux.HandleFunc("GET /api/news", p.news)
	mux.Handle("GET /metrics", newMetrics(m))
	mux.Handle("GET /", http.FileServerFS(files))
	p.server = &http.Server{Handler: p.guard(mux), ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10}
	p.running.Go(func() { _ = p.server.Serve(l) }) // until it is closed
	return p, nil
}

// URL is where the page is.
func (p *Page) URL() string { return "http://" + p.listener.Addr().String() + "/" }

// Close ends the page.
func (p *Page) Close() {
	close(p.done)
	_ = p.server.Close() // nobody is waited for
	p.running.Wait()
}

// guard keeps pages of others out: a name that leads here by DNS is not this machine's (DNS rebinding), and nothing
// may be loaded from elsewhere, nor this page be shown inside another.
func (p *Page) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		if ip, err := netip.ParseAddr(host); host != "localhost" && (err != nil || !ip.IsLoopback()) {
			http.Error(w, "this page is reached by its loopback address only", http.StatusForbidden)
			return
		}
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-cache")
		next.ServeHTTP(w, r)
	})
}

// news tells whenever a window was judged, or something has happened, as server-sent events.
func (p *Page) news(w http.ResponseWriter, r *http.Request) {
	if !p.enter() {
		http.Error(w, "too many pages are open", http.StatusServiceUnavailable)
		return
	}
	defer p.leave()
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	last := uint64(0)
	for {
		changed, number := p.monitor.newsAfter()
		if number != last {
			last = number
			if _, err := fmt.Fprintf(w, "event: news\ndata: %d\n\n", number); err != nil || out.Flush() != nil {
				return
			}
		}
		select {
		case <-changed:
		case <-time.After(15 * time.Second): // so that a dead reader is found
			if _, err := fmt.Fprint(w, ": still here\n\n"); err != nil || out.Flush() != nil {
				return
			}
		case <-r.Context().Done():
			return
		case <-p.done:
			return
		}
	}
}

func (p *Page) enter() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.readers >= maxReaders {
		return false
	}
	p.readers++
	return true
}

func (p *Page) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.readers--
}
