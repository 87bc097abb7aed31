package monitor

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// page serves the page of a monitor that knows two hosts, one of which has a name that a careless page would run.
func page(t *testing.T) (*Monitor, *Page) {
	t.Helper()
	m := quick(t, t.TempDir())
	for _, name := range []string{"a", "<script>document.title='taken'</script>"} {
		must(t, m.introduced(&hello{Version: version, Host: Host{Name: name, Addr: "127.0.0.1", Rack: "r1"}, Now: time.Now()}))
	}
	p, err := m.ServePage(PageConfig{Listen: "127.0.0.1:0"})
	must(t, err)
	t.Cleanup(p.Close)
	return m, p
}

// fetch asks the page for something.
func fetch(t *testing.T, method, url, host string, body io.Reader) (*http.Response, string) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), method, url, body)
	must(t, err)
	if host != "" {
		q.Host = host
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := client.Do(q)
	must(t, err)
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	must(t, err)
	return r, string(text)
}

// TestPage checks what the page serves, and to whom.
func TestPage(t *testing.T) {
	t.Parallel()
	_, p := page(t)
	for _, file := range []string{"", "app.js", "style.css", "icon.svg", "vendor/htm-preact.js", "vendor/uPlot.iife.min.js", "vendor/uPlot.min.css"} {
		r, text := fetch(t, "GET", p.URL()+file, "", nil)
		if r.StatusCode != http.StatusOK || text == "" || !strings.Contains(r.Header.Get("Content-Security-Policy"), "default-src 'self'") {
			t.Errorf("%s: %v, %v", file, r.Status, r.Header)
		}
	}
	_, text := fetch(t, "GET", p.URL()+"api/state", "", nil)
	var s State
	if err := json.Unmarshal([]byte(text), &s); err != nil || len(s.Hosts) != 2 || len(s.Events) != 2 {
		t.Errorf("%v: %s", err, text)
	}
	for _, test := range []struct {
		method, path, host string
		want               int
	}{
		{"GET", "", "evil.example", http.StatusForbidden},
		{"GET", "api/state", "evil.example:80", http.StatusForbidden},
		{"GET", "", "10.0.0.1", http.StatusForbidden},
		{"GET", "", "localhost", http.StatusOK},
		{"GET", "", "[::1]:99", http.StatusOK},
		{"GET", "nothing", "", http.StatusNotFound},
		{"GET", "../server.go", "", http.StatusNotFound},
		{"POST", "api/state", "", http.StatusMethodNotAllowed},
		{"PUT", "", "", http.StatusMethodNotAllowed},
		{"DELETE", "api/news", "", http.StatusMethodNotAllowed},
	} {
		if r, _ := fetch(t, test.method, p.URL()+test.path, test.host, strings.NewReader("x")); r.StatusCode != test.want {
			t.Errorf("%s /%s of %q: %s, want %d", test.method, test.path, test.host, r.Status, test.want)
		}
	}
}

// TestPageAddress checks which addresses a page is served at, and that no certificate is half given.
func TestPageAddress(t *testing.T) {
	t.Parallel()
	m, p := page(t)
	taken := strings.TrimSuffix(strings.TrimPrefix(p.URL(), "http://"), "/")
	for _, cfg := range []PageConfig{
		{Listen: "127.0.0.1"},
		{Listen: taken},
		{Listen: "192.0.2.1:0"}, // of no machine
		{Listen: "127.0.0.1:0", Certificate: "cert.pem"},
		{Listen: "127.0.0.1:0", Key: "key.pem"},
		{Listen: "127.0.0.1:0", Certificate: "nothing.pem", Key: "nothing.pem"},
		{Listen: "127.0.0.1:0", ClientCA: "nothing.pem"},
		{Listen: "127.0.0.1:0", ClientCA: "http.go"}, // which has no certificate
	} {
		if other, err := m.ServePage(cfg); err == nil {
			t.Errorf("it is served: %+v", cfg)
			other.Close()
		}
	}
}

// TestPageNews checks that a reader is told when something happens, and that not all the world can wait for it.
func TestPageNews(t *testing.T) {
	t.Parallel()
	m, p := page(t)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := client.Get(p.URL() + "api/news")
	must(t, err)
	defer r.Body.Close()
	lines := bufio.NewScanner(r.Body)
	next := func() (news string) {
		for lines.Scan() {
			if text, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				return text
			}
		}
		t.Fatal("there is no news", lines.Err())
		return ""
	}
	first := next()
	must(t, m.introduced(&hello{Version: version, Host: Host{Name: "c", Addr: "127.0.0.1"}, Now: time.Now()}))
	if second := next(); second == first {
		t.Errorf("news %s twice", first)
	}
	p.mu.Lock()
	p.readers = maxReaders
	p.mu.Unlock()
	if r, _ := fetch(t, "GET", p.URL()+"api/news", "", nil); r.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("one more than may: %s", r.Status)
	}
}
