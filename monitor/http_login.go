package monitor

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	// sessionTime is how long a login lasts.
	sessionTime = 12 * time.Hour
	// maxSessions is how many there may be; the one that ends first makes room.
	maxSessions = 1000
	// maxAttempts is how many wrong tokens an address may send in attemptsTime, and maxStrangers how many addresses are counted. Others may try
	// all the same: nobody guesses a secret, and whoever has that many addresses must not keep people out.
	maxAttempts  = 10
	attemptsTime = time.Minute
	maxStrangers = 10_000
	// maxBy is the length of a person's name.
	maxBy = 64
)

// visitor is who makes a request.
type visitor struct {
	Role Role   `json:"role"`
	By   string `json:"by"` // the name; empty: nobody said
}

// doors knows who has come in, and who tries to.
type doors struct {
	mu       sync.Mutex
	sessions map[[sha256.Size]byte]session // by the hash of what the cookie has: nothing can be learnt from how long it takes to find one
	since    time.Time                     // of these attempts
	failed   map[netip.Prefix]int
}

// session is a login.
type session struct {
	visitor
	ends time.Time
}

// enter begins a session and returns what its cookie has.
func (d *doors) enter(v visitor, now time.Time) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.sessions == nil {
		d.sessions = map[[sha256.Size]byte]session{}
	}
	if len(d.sessions) >= maxSessions {
		d.makeRoom()
	}
	id := rand.Text()
	d.sessions[sha256.Sum256([]byte(id))] = session{v, now.Add(sessionTime)}
	return id
}

// makeRoom ends the session that would end first; the lock is held.
func (d *doors) makeRoom() {
	var oldest [sha256.Size]byte
	var ends time.Time
	for key, s := range d.sessions {
		if ends.IsZero() || s.ends.Before(ends) {
			oldest, ends = key, s.ends
		}
	}
	delete(d.sessions, oldest)
}

// find returns whose session it is.
func (d *doors) find(id string, now time.Time) (visitor, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	key := sha256.Sum256([]byte(id))
	s, ok := d.sessions[key]
	if ok && now.After(s.ends) {
		delete(d.sessions, key)
		ok = false
	}
	return s.visitor, ok
}

func (d *doors) exit(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.sessions, sha256.Sum256([]byte(id)))
}

// neighbourhood is the part of an address that one owner has.
func neighbourhood(remote string) netip.Prefix {
	from, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Prefix{}
	}
	ip := from.Addr().Unmap().WithZone("")
	bits := ip.BitLen()
	if ip.Is6() {
		bits = 64
	}
	p, _ := ip.Prefix(bits) // of its own length
	return p
}

// mayTry says whether somebody may show another token.
func (d *doors) mayTry(remote string, now time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if now.Sub(d.since) > attemptsTime {
		d.since, d.failed = now, map[netip.Prefix]int{}
	}
	return d.failed[neighbourhood(remote)] < maxAttempts
}

// wrong counts a wrong token, or says that too many addresses have sent some.
func (d *doors) wrong(remote string) (counted bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	from := neighbourhood(remote)
	if d.failed[from] > 0 || len(d.failed) < maxStrangers {
		d.failed[from]++
		return true
	}
	return false
}

// roleOf is the role of who shows a token.
func (p *Page) roleOf(r *http.Request, token string) (Role, error) {
	if !p.doors.mayTry(r.RemoteAddr, time.Now()) {
		return "", fail(http.StatusTooManyRequests, "too many wrong tokens; wait a minute")
	}
	role, ok := p.monitor.creds.roleOf(token, RoleReader, RoleOperator)
	if !ok {
		if p.doors.wrong(r.RemoteAddr) { // else the log says so often enough
			p.monitor.cfg.Log.Warn("a wrong token is shown to the page", "from", r.RemoteAddr)
		}
		return "", fail(http.StatusUnauthorized, "this is not the token of a reader or operator: they are in the files %s and %s of the monitor's directory",
			JoinFile(RoleReader), JoinFile(RoleOperator))
	}
	return role, nil
}

// who is who makes a request: somebody with a token, who has logged in, or with a certificate; or anybody where anybody may read.
func (p *Page) who(r *http.Request) (visitor, error) {
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		role, err := p.roleOf(r, token)
		host, _, _ := net.SplitHostPort(r.RemoteAddr)
		return visitor{role, "a program at " + host}, err
	}
	if c, err := r.Cookie(p.cookieName()); err == nil {
		if v, ok := p.doors.find(c.Value, time.Now()); ok {
			return v, nil
		}
	}
	if r.TLS != nil && len(r.TLS.VerifiedChains) > 0 {
		return visitor{RoleReader, r.TLS.PeerCertificates[0].Subject.CommonName}, nil
	}
	if p.open {
		return visitor{Role: RoleReader}, nil
	}
	return visitor{}, fail(http.StatusUnauthorized, "log in with the token of a reader or operator")
}

// cookieName: the prefix has browsers refuse a cookie that another host has set, or that goes without TLS.
func (p *Page) cookieName() string {
	if p.open {
		return "braid-session"
	}
	return "__Host-braid-session"
}

func (p *Page) cookie(id string, seconds int) *http.Cookie {
	return &http.Cookie{Name: p.cookieName(), Value: id, Path: "/", MaxAge: seconds, HttpOnly: true, Secure: !p.open, SameSite: http.SameSiteStrictMode}
}

// me says who the visitor is; nobody is not an error here.
func (p *Page) me(r *http.Request) (any, error) {
	v, err := p.who(r)
	if statusOf(err) == http.StatusUnauthorized {
		return visitor{}, nil
	}
	return v, err
}

// login takes a token and a name.
func (p *Page) login(r *http.Request) (any, error) {
	var q struct {
		Token string `json:"token"`
		Name  string `json:"name"`
	}
	if err := readJSON(r, &q); err != nil {
		return nil, err
	}
	name := strings.TrimSpace(q.Name)
	if name == "" || len(name) > maxBy || !utf8.ValidString(name) || strings.ContainsFunc(name, func(c rune) bool { return !unicode.IsPrint(c) }) {
		return nil, fail(http.StatusBadRequest, "your name is needed, in up to %d bytes: it stands beside what you change", maxBy)
	}
	role, err := p.roleOf(r, q.Token)
	if err != nil {
		return nil, err
	}
	p.logout(r) //nolint:errcheck // it has no error: another session ends where a new one begins
	v := visitor{role, name}
	id := p.doors.enter(v, time.Now())
	p.monitor.said(fmt.Sprintf("%q has logged in as %s, from %s.", name, role, r.RemoteAddr))
	return cookied{v, p.cookie(id, int(sessionTime/time.Second))}, nil
}

// logout ends the session.
func (p *Page) logout(r *http.Request) (any, error) {
	if c, err := r.Cookie(p.cookieName()); err == nil {
		p.doors.exit(c.Value)
	}
	return cookied{visitor{}, p.cookie("", -1)}, nil
}

// said notes something that a person did at the page.
func (m *Monitor) said(text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.note(Event{At: time.Now(), Says: text})
}
