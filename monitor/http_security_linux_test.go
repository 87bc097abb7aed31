package monitor

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// person is somebody with a browser, as far as HTTP goes.
type person struct {
	t      *testing.T
	page   *Page
	client *http.Client
	header http.Header
}

func newPerson(t *testing.T, p *Page, certificates ...tls.Certificate) *person {
	t.Helper()
	jar, err := cookiejar.New(nil)
	must(t, err)
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: certificates}}
	return &person{t, p, &http.Client{Transport: transport, Jar: jar}, http.Header{}}
}

// do makes a request and returns its status and what the response says.
func (x *person) do(method, path string, body any) (int, string) {
	x.t.Helper()
	var text io.Reader
	switch b := body.(type) {
	case nil:
	case io.Reader:
		text = b
	default:
		encoded, err := json.Marshal(b)
		must(x.t, err)
		text = bytes.NewReader(encoded)
	}
	q, err := http.NewRequestWithContext(x.t.Context(), method, x.page.URL()+strings.TrimPrefix(path, "/"), text)
	must(x.t, err)
	q.Header.Set("Content-Type", "application/json")
	for name, values := range x.header {
		q.Header[name] = values
	}
	if host := x.header.Get("Host"); host != "" {
		q.Host = host
	}
	r, err := x.client.Do(q)
	must(x.t, err)
	defer r.Body.Close()
	got, err := io.ReadAll(r.Body)
	must(x.t, err)
	return r.StatusCode, string(got)
}

// wants makes a request that has to have a status.
func (x *person) wants(status int, method, path string, body any) string {
	x.t.Helper()
	got, text := x.do(method, path, body)
	if got != status {
		x.t.Errorf("%s %s: status %d, want %d: %s", method, path, got, status, text)
	}
	if got >= 400 && got != http.StatusMethodNotAllowed && !strings.Contains(text, `"error"`) {
		x.t.Errorf("%s %s: an error that is no JSON: %s", method, path, text)
	}
	return text
}

func (x *person) logIn(token, name string) int {
	x.t.Helper()
	status, _ := x.do("POST", "/api/login", map[string]string{"token": token, "name": name})
	return status
}

// with is the person with a header.
func (x *person) with(name, value string) *person {
	other := *x
	other.header = http.Header{name: {value}}
	return &other
}

// away serves a page over TLS, as it is to others than this machine.
func away(t *testing.T, m *Monitor, cfg PageConfig) *Page {
	t.Helper()
	cfg.Listen = "0.0.0.0:0"
	p, err := m.ServePage(cfg)
	must(t, err)
	t.Cleanup(p.Close)
	return p
}

const setPath, rollBackPath = "/api/host/a/program/1.1/parameters", "/api/host/a/program/1.1/rollback"

// TestPageNeedsAuthentication checks that elsewhere than on loopback nobody reads without a token, and nobody changes anything without an operator's.
func TestPageNeedsAuthentication(t *testing.T) {
	t.Parallel()
	m, open := page(t)
	closed := away(t, m, PageConfig{})
	if !strings.HasPrefix(closed.URL(), "https://") || len(closed.Fingerprint()) != 95 {
		t.Fatalf("%s, certificate %q", closed.URL(), closed.Fingerprint())
	}
	change := map[string]any{"values": map[string]string{"keepalive": "7s"}}
	stranger := newPerson(t, closed)
	stranger.wants(http.StatusOK, "GET", "/", nil) // the form to log in with
	if me := stranger.wants(http.StatusOK, "GET", "/api/me", nil); !strings.Contains(me, `"role":""`) {
		t.Errorf("a stranger is %s", me)
	}
	for _, path := range []string{
		"/api/state", "/api/news", "/api/events", "/api/host/a/programs", "/api/host/a/slow", "/api/host/a/parameters", "/api/host/a/program/1.1",
		"/api/host/a/program/1.1/qp", "/api/host/a/program/1.1/why", "/api/host/a/program/1.1/history", "/api/host/a/program/1.1/traces", setPath,
	} {
		stranger.wants(http.StatusUnauthorized, "GET", path, nil)
	}
	stranger.wants(http.StatusUnauthorized, "POST", setPath, change)
	stranger.wants(http.StatusUnauthorized, "POST", rollBackPath, change)

	for token, status := range map[string]int{
		"": http.StatusUnauthorized, "wrong": http.StatusUnauthorized, m.Join(RoleAgent): http.StatusUnauthorized,
		m.Join(RoleOperator) + "x": http.StatusUnauthorized, m.Join(RoleReader): http.StatusOK,
	} {
		newPerson(t, closed).with("Authorization", "Bearer "+token).wants(status, "GET", "/api/state", nil)
	}

	reader := newPerson(t, closed)
	if status := reader.logIn(m.Join(RoleReader), "Rita"); status != http.StatusOK {
		t.Fatalf("a reader cannot log in: %d", status)
	}
	reader.wants(http.StatusOK, "GET", "/api/state", nil)
	reader.wants(http.StatusForbidden, "POST", setPath, change)
	reader.wants(http.StatusForbidden, "POST", rollBackPath, change)
	if me := reader.wants(http.StatusOK, "GET", "/api/me", nil); !strings.Contains(me, `"role":"reader","by":"Rita"`) {
		t.Errorf("the reader is %s", me)
	}
	anybody := newPerson(t, open)
	anybody.wants(http.StatusOK, "GET", "/api/state", nil)
	anybody.wants(http.StatusForbidden, "POST", setPath, change)

	operator := newPerson(t, closed)
	operator.logIn(m.Join(RoleOperator), "Otto")
	operator.wants(http.StatusServiceUnavailable, "POST", setPath, change) // it may, and the agent is not there
	operator.wants(http.StatusOK, "POST", "/api/logout", map[string]string{})
	operator.wants(http.StatusUnauthorized, "POST", setPath, change)
	if !slices.ContainsFunc(m.Events(), func(e Event) bool { return strings.Contains(e.Says, `"Otto" has logged in as operator`) }) {
		t.Errorf("the login is no event: %+v", m.Events())
	}
}

// TestPageSession checks what the cookie of a session is, and that sessions and attempts are bounded.
func TestPageSession(t *testing.T) {
	t.Parallel()
	m, open := page(t)
	for _, p := range []*Page{open, away(t, m, PageConfig{})} {
		x := newPerson(t, p)
		body, err := json.Marshal(map[string]string{"token": m.Join(RoleReader), "name": "Rita"})
		must(t, err)
		r, err := x.client.Post(p.URL()+"api/login", "application/json", bytes.NewReader(body))
		must(t, err)
		r.Body.Close()
		cookies := r.Cookies()
		if len(cookies) != 1 {
			t.Fatalf("cookies %v", cookies)
		}
		c := cookies[0]
		if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Secure == p.open || c.Path != "/" || c.MaxAge <= 0 || len(c.Value) < 26 || strings.Contains(m.Join(RoleReader), c.Value) {
			t.Errorf("cookie %+v", c)
		}
		for _, name := range []string{"", "  ", strings.Repeat("x", maxBy+1), "a\nb", "a\x00b"} {
			if status := x.logIn(m.Join(RoleReader), name); status != http.StatusBadRequest {
				t.Errorf("name %q: %d", name, status)
			}
		}
		for range maxAttempts {
			x.logIn("wrong", "Rita")
		}
		if status := x.logIn(m.Join(RoleReader), "Rita"); status != http.StatusTooManyRequests {
			t.Errorf("after %d wrong tokens: %d", maxAttempts, status)
		}
		x.wants(http.StatusOK, "GET", "/api/state", nil) // who has logged in before stays
	}
}

// TestPageSessionsEnd checks when sessions end, and that there are not too many of them, nor of those who fail to log in.
func TestPageSessionsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var d doors
		first := d.enter(visitor{RoleReader, "first"}, time.Now())
		time.Sleep(sessionTime - time.Second)
		if v, ok := d.find(first, time.Now()); !ok || v.By != "first" {
			t.Errorf("it is %+v, %v", v, ok)
		}
		time.Sleep(2 * time.Second)
		if _, ok := d.find(first, time.Now()); ok || len(d.sessions) != 0 {
			t.Error("it does not end")
		}
		second := d.enter(visitor{RoleReader, "second"}, time.Now())
		time.Sleep(time.Second)
		for range maxSessions {
			d.enter(visitor{RoleReader, "more"}, time.Now())
		}
		if _, ok := d.find(second, time.Now()); ok || len(d.sessions) != maxSessions {
			t.Errorf("%d sessions", len(d.sessions))
		}
		for i := range maxStrangers {
			from := fmt.Sprintf("[2001:db8:%x::1]:1", i)
			if !d.mayTry(from, time.Now()) || !d.wrong(from) {
				t.Fatalf("stranger %d may not try", i)
			}
		}
		const later = "192.0.2.1:1"
		if d.wrong(later) || len(d.failed) != maxStrangers || !d.mayTry(later, time.Now()) {
			t.Errorf("%d strangers are counted, and keep others out: %v", len(d.failed), !d.mayTry(later, time.Now()))
		}
		for range maxAttempts {
			d.wrong("[2001:db8::1]:1")
		}
		if d.mayTry("[2001:db8::1]:1", time.Now()) {
			t.Error("one of them may go on")
		}
		time.Sleep(attemptsTime + time.Second)
		if !d.mayTry("[2001:db8::1]:1", time.Now()) {
			t.Error("it does not end")
		}
		for range maxAttempts {
			d.wrong("[2001:db8::1]:1")
		}
		if d.mayTry("[2001:db8::2]:1", time.Now()) || !d.mayTry("[2001:db8:0:1::2]:1", time.Now()) {
			t.Error("those of one network are not one")
		}
	})
}

// TestPageRefusesOtherPages checks requests that a page elsewhere makes a browser send: by a form or script (CSRF), or by a name that it leads here (DNS rebinding).
func TestPageRefusesOtherPages(t *testing.T) {
	t.Parallel()
	m, open := page(t)
	for _, p := range []*Page{open, away(t, m, PageConfig{Names: []string{"Monitor.example"}})} {
		x := newPerson(t, p)
		if status := x.logIn(m.Join(RoleOperator), "Otto"); status != http.StatusOK {
			t.Fatalf("login: %d", status)
		}
		change := map[string]any{"values": map[string]string{"keepalive": "7s"}}
		for _, path := range []string{setPath, rollBackPath, "/api/login", "/api/logout"} {
			x.with("Origin", "https://evil.example").wants(http.StatusForbidden, "POST", path, change)
			x.with("Origin", "null").wants(http.StatusForbidden, "POST", path, change)
			x.with("Sec-Fetch-Site", "cross-site").wants(http.StatusForbidden, "POST", path, change)
			x.with("Sec-Fetch-Site", "same-site").wants(http.StatusForbidden, "POST", path, change) // another port of this host
			if path != "/api/logout" {
				x.with("Content-Type", "text/plain").wants(http.StatusUnsupportedMediaType, "POST", path, change)
				x.with("Content-Type", "application/x-www-form-urlencoded").wants(http.StatusUnsupportedMediaType, "POST", path, strings.NewReader("values=1"))
			}
		}
		x.with("Sec-Fetch-Site", "cross-site").wants(http.StatusForbidden, "GET", "/api/state", nil)
		x.with("Sec-Fetch-Site", "same-origin").wants(http.StatusOK, "GET", "/api/state", nil)
		for _, host := range []string{"evil.example", "evil.example:80", "10.99.0.1", "localhost.evil.example", "127.0.0.1.evil.example:7481", "[2001:db8::1]:7481"} {
			x.with("Host", host).wants(http.StatusForbidden, "GET", "/", nil)
			x.with("Host", host).wants(http.StatusForbidden, "GET", "/api/state", nil)
			x.with("Host", host).wants(http.StatusForbidden, "POST", setPath, change)
		}
		x.wants(http.StatusOK, "GET", "/api/state", nil) // it is still there
	}
	named := newPerson(t, away(t, m, PageConfig{Names: []string{"Monitor.example"}}))
	named.with("Host", "MONITOR.example:7481").wants(http.StatusOK, "GET", "/", nil)
	named.with("Host", "braid-monitor").wants(http.StatusOK, "GET", "/", nil)
	named.with("Host", "localhost").wants(http.StatusForbidden, "GET", "/", nil)
}

// TestPageBounds checks bodies that are too long, of which no more is read than may be; and what is no request.
func TestPageBounds(t *testing.T) {
	t.Parallel()
	m, p := page(t)
	x := newPerson(t, p)
	x.logIn(m.Join(RoleOperator), "Otto")
	for _, path := range []string{setPath, rollBackPath, "/api/login"} {
		body := new(counted)
		q, err := http.NewRequestWithContext(t.Context(), "POST", p.URL()+strings.TrimPrefix(path, "/"), body)
		must(t, err)
		q.Header.Set("Content-Type", "application/json")
		if r, err := x.client.Do(q); err == nil { // or it breaks while it is sent
			if r.StatusCode != http.StatusRequestEntityTooLarge {
				t.Errorf("%s: %s", path, r.Status)
			}
			r.Body.Close()
		}
		if sent := body.read.Load(); sent > 32<<20 {
			t.Errorf("%s took %d bytes", path, sent)
		}
	}
	for _, body := range []string{"", "{", "[]", `{"values":{"a":1}}`, `{"values":{}}`, `{"values":{"keepalive":"1s"},"more":1}`, `{"values":{"keepalive":"1s"}} {}`, "\x00"} {
		x.wants(http.StatusBadRequest, "POST", setPath, strings.NewReader(body))
	}
	for _, path := range []string{"/api/host/nobody/programs", "/api/host/nobody/program/1.1/why", "/api/nothing", "/api/host/a/program/1.1/nothing"} {
		x.wants(http.StatusNotFound, "GET", path, nil)
	}
	for _, path := range []string{
		"/api/host/a/program/1", "/api/host/a/program/x.y/why", "/api/host/a/program/0.1/why", "/api/host/a/program/-1.1/why", "/api/host/a/program/1.1/why?qp=x",
		"/api/host/a/program/1.1/why?qp=16777216", "/api/host/a/program/1.1/why?for=1h", "/api/host/a/program/1.1/why?for=-1s", "/api/host/a/program/1.1/why?for=x",
	} {
		x.wants(http.StatusBadRequest, "GET", path, nil)
	}
	for path, method := range map[string]string{
		"/api/login": "GET", "/api/host/a/programs": "POST", rollBackPath: "PUT", setPath: "DELETE", "/api/me": "POST", "/api/host/a/program/1.1/why": "POST",
	} {
		if status, _ := x.do(method, path, map[string]string{}); status != http.StatusMethodNotAllowed && status != http.StatusNotFound {
			t.Errorf("%s %s: %d", method, path, status)
		}
	}
}

// counted is a body of a gigabyte that knows how much of it was read.
type counted struct{ read atomic.Int64 }

func (c *counted) Read(b []byte) (int, error) {
	if c.read.Load() >= 1<<30 {
		return 0, io.EOF
	}
	for i := range b {
		b[i] = ' '
	}
	c.read.Add(int64(len(b)))
	return len(b), nil
}

// TestPageSlowReaders has somebody ask for all that there is and read nothing: the page leaves them, and others are served meanwhile.
func TestPageSlowReaders(t *testing.T) {
	t.Parallel()
	m, p := page(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	s := &http.Server{Handler: p.server.Handler, ReadHeaderTimeout: time.Minute}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = s.Serve(smallBuffers{l})
	}()
	defer func() {
		s.Close()
		<-served
	}()
	address := l.Addr().String()
	conn, err := net.Dial("tcp", address)
	must(t, err)
	defer conn.Close()
	must(t, conn.(*net.TCPConn).SetReadBuffer(4096))
	_, err = fmt.Fprintf(conn, "GET /api/news HTTP/1.1\r\nHost: %s\r\n\r\n", address)
	must(t, err)
	waiting := func() int {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.readers
	}
	eventually(t, "the reader waits for news", func() bool { return waiting() == 1 })
	newPerson(t, p).wants(http.StatusOK, "GET", "/api/state", nil)
	eventually(t, "who does not read is not told any more", func() bool {
		for range 100 {
			m.mu.Lock()
			m.news.wake() // more often than it would
			m.mu.Unlock()
			runtime.Gosched()
		}
		return waiting() == 0
	})
}

// smallBuffers is a listener to whose readers little can be sent that they do not read.
type smallBuffers struct{ net.Listener }

func (l smallBuffers) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if tcp, ok := c.(*net.TCPConn); ok {
		err = tcp.SetWriteBuffer(4096)
	}
	return c, err
}

// authority makes a certificate that signs others, and returns its file and a certificate of a client, or of a server of this machine.
func authority(t *testing.T, name string) (file string, signed tls.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, ca, ca, key.Public(), key)
	must(t, err)
	file = filepath.Join(t.TempDir(), "ca.pem")
	must(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, NotBefore: ca.NotBefore, NotAfter: ca.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	text, err := x509.CreateCertificate(rand.Reader, leaf, ca, own.Public(), key)
	must(t, err)
	return file, tls.Certificate{Certificate: [][]byte{text}, PrivateKey: own}
}

// TestPageMutualTLS checks that a client certificate lets somebody read, and change nothing.
func TestPageMutualTLS(t *testing.T) {
	t.Parallel()
	m, _ := page(t)
	file, certificate := authority(t, "Carla")
	_, forged := authority(t, "Carla")
	p := away(t, m, PageConfig{ClientCA: file})
	carla := newPerson(t, p, certificate)
	if me := carla.wants(http.StatusOK, "GET", "/api/me", nil); !strings.Contains(me, `"role":"reader","by":"Carla"`) {
		t.Errorf("she is %s", me)
	}
	carla.wants(http.StatusOK, "GET", "/api/state", nil)
	carla.wants(http.StatusForbidden, "POST", setPath, map[string]any{})
	newPerson(t, p).wants(http.StatusUnauthorized, "GET", "/api/state", nil)
	if r, err := newPerson(t, p, forged).client.Get(p.URL() + "api/state"); err == nil {
		r.Body.Close()
		t.Errorf("a certificate of another authority: %s", r.Status)
	}
	if status := carla.logIn(m.Join(RoleOperator), "Carla"); status != http.StatusOK {
		t.Fatalf("login: %d", status)
	}
	carla.wants(http.StatusServiceUnavailable, "POST", setPath, map[string]any{"values": map[string]string{"keepalive": "7s"}})
}

// TestPageConnectionsOfOne checks that one address cannot have all connections.
func TestPageConnectionsOfOne(t *testing.T) {
	t.Parallel()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	l := &fairListener{Listener: inner, open: map[netip.Prefix]int{}}
	defer l.Close()
	dial := func(from string) net.Conn {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		c, err := d.DialContext(t.Context(), "tcp", l.Addr().String())
		must(t, err)
		t.Cleanup(func() { c.Close() })
		return c
	}
	var first net.Conn
	for range maxNeighbours {
		dial("127.0.0.1")
		first, err = l.Accept()
		must(t, err)
	}
	refused := dial("127.0.0.1")
	dial("127.0.0.2")
	other, err := l.Accept()
	must(t, err)
	if from := other.RemoteAddr().(*net.TCPAddr).IP.String(); from != "127.0.0.2" {
		t.Errorf("%s is let in", from)
	}
	if _, err := refused.Read(make([]byte, 1)); err == nil {
		t.Error("one too many is not closed")
	}
	for range 2 { // and counts once
		first.Close()
	}
	dial("127.0.0.1")
	_, err = l.Accept()
	must(t, err)
	refused = dial("127.0.0.1")
	dial("127.0.0.2")
	_, err = l.Accept()
	must(t, err)
	if _, err := refused.Read(make([]byte, 1)); err == nil {
		t.Error("one that has left counts twice")
	}
	other.Close()
	if n := l.open[neighbourhood(other.RemoteAddr().String())]; n != 1 {
		t.Errorf("%d connections of the other address", n)
	}
}
