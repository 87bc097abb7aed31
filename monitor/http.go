package monitor

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/netutil"
)

//go:embed web
var web embed.FS

const (
	// maxReaders is how many pages may wait for news, maxConnections how many connections there may be in all, and maxNeighbours how many of one address.
	maxReaders     = 100
	maxConnections = 1000
	maxNeighbours  = maxConnections / 4
	// maxBody is how long a body may be, and bodyTime how long it may take to come.
	maxBody  = 64 << 10
	bodyTime = 10 * time.Second
	// writeTime is how long a reader may take for what it asked for; newsTime how long for one piece of news.
	writeTime = 2 * time.Minute
	newsTime  = 10 * time.Second
)

// PageConfig is that of a page.
type PageConfig struct {
	// Listen is the address. At a loopback address without a certificate everybody on this machine may read; elsewhere, or with one, the page
	// is served over TLS, and whoever reads needs the token of a reader or operator, or a certificate.
	Listen string
	// Certificate and Key are files. Without them the page has the monitor's own certificate, which browsers warn of.
	Certificate, Key string
	// ClientCA is a file with the authorities whose client certificates let their owners read.
	ClientCA string
	// Names are those by which the page may be reached, besides those of Certificate and the address itself.
	Names []string
}

// Page is the monitor for people, over HTTP.
type Page struct {
	monitor  *Monitor
	listener net.Listener
	server   *http.Server
	open     bool     // whoever reaches it may read
	names    []string // by which it may be reached, in lower case
	doors    doors
	asking   *asking
	done     chan struct{}
	running  sync.WaitGroup

	mu      sync.Mutex
	readers int
}

// ServePage serves the page.
func (m *Monitor) ServePage(cfg PageConfig) (*Page, error) {
	secure, err := m.pageTLS(&cfg)
	if err != nil {
		return nil, fmt.Errorf("monitor: page: %w", err)
	}
	files, err := fs.Sub(web, "web")
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", cfg.Listen)
	if err != nil {
		return nil, fmt.Errorf("monitor: page: %w", err)
	}
	p := &Page{monitor: m, listener: l, open: secure == nil, names: pageNames(&cfg, secure), done: make(chan struct{})}
	p.asking = newAsking(p)
	p.server = &http.Server{
		Handler: p.guard(p.routes(files)), TLSConfig: secure, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
		ErrorLog: slog.NewLogLogger(m.cfg.Log.Handler(), slog.LevelDebug), // whatever strangers send
	}
	bounded := netutil.LimitListener(&fairListener{Listener: l, open: map[netip.Prefix]int{}}, maxConnections)
	p.running.Go(func() { // until it is closed
		if secure != nil {
			_ = p.server.ServeTLS(bounded, "", "")
			return
		}
		_ = p.server.Serve(bounded)
	})
	return p, nil
}

// routes are what can be asked for.
func (p *Page) routes(files fs.FS) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/me", p.anybody(p.me))
	mux.HandleFunc("POST /api/login", p.anybody(p.login))
	mux.HandleFunc("POST /api/logout", p.anybody(p.logout))
	p.serveMesh(mux)
	mux.Handle("GET /metrics", p.forReaders(newMetrics(p.monitor)))
	mux.HandleFunc("GET /api/events", p.reader(p.events))
	mux.HandleFunc("GET /api/news", p.news)
	p.programRoutes(mux)
	mux.HandleFunc("GET /api/", p.anybody(func(*http.Request) (any, error) {
		return nil, fail(http.StatusNotFound, "there is nothing of this name")
	}))
	mux.Handle("GET /", http.FileServerFS(files))
	return mux
}

// forReaders lets only readers see something.
func (p *Page) forReaders(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := p.who(r); err != nil {
			writeError(w, err)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// URL is where the page is, as this machine sees it.
func (p *Page) URL() string {
	scheme, at := "https", p.listener.Addr().(*net.TCPAddr).AddrPort() // it listens to TCP
	if p.open {
		scheme = "http"
	}
	if at.Addr().IsUnspecified() {
		at = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), at.Port())
	}
	return scheme + "://" + at.String() + "/"
}

// Close ends the page.
func (p *Page) Close() {
	close(p.done)
	p.asking.end()
	_ = p.server.Close() // nobody is waited for
	p.running.Wait()
}

// guard keeps pages of others out: a name that leads here by DNS is not this page's (DNS rebinding), requests come from nowhere else,
// nothing may be loaded from elsewhere, nor this page be shown inside another. And it bounds what a request may take.
func (p *Page) guard(next http.Handler) http.Handler {
	origin := http.NewCrossOriginProtection()
	origin.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { writeError(w, errOrigin) }))
	next = origin.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'self'; object-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-cache")
		if err := p.mayCome(r); err != nil {
			writeError(w, err)
			return
		}
		out := http.NewResponseController(w)
		if r.ContentLength != 0 {
			_ = out.SetReadDeadline(time.Now().Add(bodyTime)) // a connection that cannot have one ends with the others
			r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		}
		_ = out.SetWriteDeadline(time.Now().Add(writeTime))
		next.ServeHTTP(w, r)
	})
}

var errOrigin = fail(http.StatusForbidden, "this request comes from another page")

// mayCome refuses requests for other names, and those that another page makes a browser send.
func (p *Page) mayCome(r *http.Request) error {
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = r.Host
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	if !p.named(host, r) {
		return fail(http.StatusForbidden, "this page is not reached as %q: use its address, or a name of its certificate or of --http-name", host)
	}
	site := r.Header.Get("Sec-Fetch-Site")
	if strings.HasPrefix(r.URL.Path, "/api/") && site != "" && site != "same-origin" && site != "none" {
		return errOrigin
	}
	return nil
}

// named says whether a name is one of the page: on loopback every address and name of it, elsewhere its names and the address that was
// connected to.
func (p *Page) named(host string, r *http.Request) bool {
	for _, name := range p.names {
		if name == host {
			return true
		}
	}
	ip, err := netip.ParseAddr(host)
	if p.open {
		return host == "localhost" || err == nil && ip.IsLoopback()
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return err == nil && ok && local.AddrPort().Addr().Unmap() == ip.Unmap()
}

// news tells whenever a window was judged, or something has happened, as server-sent events. A reader that does not read is left.
func (p *Page) news(w http.ResponseWriter, r *http.Request) {
	if _, err := p.who(r); err != nil {
		writeError(w, err)
		return
	}
	if !p.enter() {
		writeError(w, errPages)
		return
	}
	defer p.leave()
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	tell := func(format string, args ...any) bool {
		if out.SetWriteDeadline(time.Now().Add(newsTime)) != nil {
			return false
		}
		_, err := fmt.Fprintf(w, format, args...)
		return err == nil && out.Flush() == nil
	}
	last := uint64(0)
	for {
		changed, number := p.monitor.newsAfter()
		if number != last {
			if last = number; !tell("event: news\ndata: %d\n\n", number) {
				return
			}
		}
		select {
		case <-changed:
		case <-time.After(15 * time.Second): // so that a dead reader is found, and one whose session has ended
			if _, err := p.who(r); err != nil || !tell(": still here\n\n") {
				return
			}
		case <-r.Context().Done():
			return
		case <-p.done:
			return
		}
	}
}

var errPages = &httpError{http.StatusServiceUnavailable, errors.New("too many pages are open")}

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
