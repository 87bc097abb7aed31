package monitor

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	// defaultWindow is R-Pingmesh's.
	defaultWindow = 30 * time.Second
	// grace is how long after its end a window may come.
	grace = 5 * time.Second
	// maxHosts bounds what strangers with the token can make it keep.
	maxHosts = 20_000
	// maxPending is how many bytes of windows may wait to be read.
	maxPending = 256 << 20
	// badClock is by how much the clock of an agent may differ.
	badClock = time.Minute
	// keptEvents is how many events are remembered.
	keptEvents = 10_000
)

// Config is that of a monitor; zero values stand for the defaults.
type Config struct {
	Listen    string        // address for agents, default 127.0.0.1:7480; port 0: a free one
	Dir       string        // for its key, secret and windows; required
	Window    time.Duration // default 30 s
	Retention time.Duration // of windows, default 7 days
	MaxBytes  int64         // of windows, default 1 GiB: the oldest go first
	Mesh      Mesh
	Limits    Limits
	External  External // instead of the NATS in this process, and of Listen
	Log       *slog.Logger
	// OnEvent is told of each event as it happens; it must return soon.
	OnEvent func(Event)
}

// Monitor assigns pinglists to agents and judges what they see.
type Monitor struct {
	cfg    Config
	creds  *credentials
	own    string    // the secret by which it is itself
	server *embedded // nil: the cluster of others
	nats   *nats.Conn
	store  store

	mu      sync.Mutex
	hosts   map[string]*known
	names   []string // of the hosts, in order
	serial  uint64
	plan    plan
	windows map[string]Window // the latest of each host
	judge   *Judge
	sum     *summary // of the last window that was judged
	counts  counts
	events  []Event
	slow    []SlowEvent
	news    news

	changed chan struct{} // hosts have come
	end     context.CancelFunc
	running sync.WaitGroup
}

// known is a host that has introduced itself.
type known struct {
	Host
	port  uint16
	clock time.Duration // by how much its clock is ahead
	last  time.Time     // when it last said something
	task  task          // what it was last told to do

	totals programTotals
}

// Event is something that has happened.
type Event struct {
	At    time.Time `json:"at"`
	Says  string    `json:"says"`
	Alarm *Alarm    `json:"alarm,omitempty"`
}

func (e *Event) String() string {
	switch {
	case e.Alarm == nil:
		return e.Says
	case !e.Alarm.Ended.IsZero():
		return fmt.Sprintf("ALARM ENDED [%s %s], after %v: %s", e.Alarm.Blame, e.Alarm.Of, e.Alarm.Ended.Sub(e.Alarm.Since).Round(time.Second), e.Says)
	}
	return fmt.Sprintf("ALARM [%s %s]: %s", e.Alarm.Blame, e.Alarm.Of, e.Says)
}

// Start starts a monitor.
func Start(cfg Config) (m *Monitor, err error) {
	if cfg.Dir == "" {
		return nil, errors.New("monitor: a directory is needed")
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Listen == "" {
		cfg.Listen = "127.0.0.1:7480"
	}
	cfg.Window, cfg.Retention = cmp.Or(cfg.Window, defaultWindow), cmp.Or(cfg.Retention, 7*24*time.Hour)
	if cfg.MaxBytes == 0 {
		cfg.MaxBytes = 1 << 30
	}
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, err
	}
	m = &Monitor{cfg: cfg, own: rand.Text(), hosts: map[string]*known{}, windows: map[string]Window{}, judge: NewJudge(cfg.Limits), changed: make(chan struct{}, 1)}
	m.news.told = make(chan struct{})
	m.sum, m.counts.raised = summarize(time.Now(), nil, nil), map[Blame]uint64{}
	damaged, where, err := mendCredentials(cfg.Dir)
	if err != nil {
		return nil, fmt.Errorf("monitor: %w", err)
	}
	for i, says := range damaged {
		m.wasSetAside(says, where[i])
	}
	if m.creds, err = loadCredentials(cfg.Dir); err != nil {
		return nil, err
	}
	if cfg.External.URL == "" {
		m.server, err = startEmbedded(cfg.Listen, cfg.Dir, m.creds.certificate, m.creds.users(m.own), natsLog{m})
	}
	if err == nil {
		err = m.connect()
	}
	if err != nil {
		m.Close()
		return nil, fmt.Errorf("monitor: %w", err)
	}
	m.startStore()
	ctx, end := context.WithCancel(context.Background())
	m.end = end
	m.running.Go(func() { m.assignAll(ctx) })
	m.running.Go(func() { m.judgeAll(ctx) })
	m.running.Go(func() { m.watchStore(ctx) })
	return m, nil
}

// connect listens to agents.
func (m *Monitor) connect() (err error) {
	if m.nats, err = m.connection(); err != nil {
		return err
	}
	if _, err = m.nats.Subscribe(subjectHello+"*", m.greeted); err != nil {
		return err
	}
	if _, err = m.nats.Subscribe(subjectState, m.tellState); err != nil {
		return err
	}
	if _, err = m.nats.Subscribe(subjectChange+"*", m.noteChange); err != nil {
		return err
	}
	windows, err := m.nats.Subscribe(subjectWindow+"*", m.reported)
	if err == nil {
		err = windows.SetPendingLimits(maxHosts, maxPending) // those of all agents come at the same time
	}
	if err != nil {
		return err
	}
	if m.server == nil { // agents of the monitor's own server find out by their connection
		if err = m.nats.Publish(subjectCall, nil); err != nil {
			return err
		}
	}
	return m.nats.Flush() // from here on agents get a reply
}

// Client asks the agents about the programs of their machines; it may change something if changes is true.
func (m *Monitor) Client(changes bool) *Client { return &Client{m.nats, changes} }

// Addr is where agents find the monitor: the URL of the cluster, if there is one.
func (m *Monitor) Addr() string {
	if m.server == nil {
		return m.cfg.External.name()
	}
	return m.server.addr
}

// Join is the token of a role; in an external cluster its own credentials do.
func (m *Monitor) Join(r Role) string { return m.creds.join(r) }

// Close ends the monitor.
func (m *Monitor) Close() {
	if m.end != nil {
		m.end()
	}
	m.running.Wait()
	m.mu.Lock()
	m.news.stop()
	m.mu.Unlock()
	m.noteStore()
	if m.nats != nil {
		m.nats.Close()
	}
	if m.server != nil {
		m.server.stop()
	}
}

// greeted takes the introduction of an agent, and replies with what it is to do.
func (m *Monitor) greeted(msg *nats.Msg) {
	var h hello
	err := json.Unmarshal(msg.Data, &h)
	if err == nil {
		err = h.Host.check()
	}
	if name, wrong := nameOf(msg.Subject, subjectHello); err == nil && (wrong != nil || name != h.Host.Name) {
		err = errors.New("another name than that of the subject")
	}
	if err == nil {
		err = m.introduced(&h)
	}
	if err != nil {
		m.mu.Lock()
		m.counts.strangers++
		m.mu.Unlock()
		m.cfg.Log.Warn("an agent is refused", "error", err)
		return
	}
	text, err := m.assignmentText(h.Host.Name, h.Have)
	if err == nil {
		err = msg.Respond(text)
	}
	if err != nil {
		m.cfg.Log.Warn("an agent has no reply", "host", h.Host.Name, "error", err)
	}
}

// introduced remembers a host.
func (m *Monitor) introduced(h *hello) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	k := m.hosts[h.Host.Name]
	if k == nil && len(m.hosts) >= maxHosts {
		return fmt.Errorf("there are %d hosts", len(m.hosts))
	}
	if k == nil || k.Host != h.Host || k.port != h.Port {
		m.serial++
		select {
		case m.changed <- struct{}{}:
		default:
		}
	}
	if k == nil {
		k = &known{}
		m.hosts[h.Host.Name] = k
		at, _ := slices.BinarySearch(m.names, h.Host.Name)
		m.names = slices.Insert(m.names, at, h.Host.Name)
		m.note(Event{At: now, Says: fmt.Sprintf("%s of rack %q has joined.", h.Host.Name, h.Host.Rack)})
	}
	clock := h.Now.Sub(now).Round(time.Second)
	if clock.Abs() > badClock && k.clock.Abs() <= badClock {
		m.note(Event{At: now, Says: fmt.Sprintf("The clock of %s is wrong by %v.", h.Host.Name, clock)})
	}
	k.Host, k.port, k.clock, k.last = h.Host, h.Port, clock, now
	return nil
}

// note remembers an event; the lock is held.
func (m *Monitor) note(e Event) {
	m.counts.events++
	m.events = append(m.events, e)
	if len(m.events) > keptEvents {
		m.events = slices.Delete(m.events, 0, len(m.events)-keptEvents)
	}
	if m.cfg.OnEvent != nil {
		m.cfg.OnEvent(e)
	}
	m.tell()
}

// reported takes a window of an agent. The stream stores it beside this.
func (m *Monitor) reported(msg *nats.Msg) {
	var w Window
	err := json.Unmarshal(msg.Data, &w)
	if err == nil {
		err = w.check()
	}
	if name, wrong := nameOf(msg.Subject, subjectWindow); err == nil && (wrong != nil || name != w.Host) {
		err = errors.New("another name than that of the subject")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.hosts[w.Host]
	if err == nil && k == nil {
		err = errors.New("it has not introduced itself")
	}
	if err != nil {
		m.counts.refused++
		m.cfg.Log.Warn("a window is refused", "host", w.Host, "error", err)
		return
	}
	m.counts.received++
	k.last = time.Now()
	for i := range w.Pairs { // the same few thousand names come again and again: each is kept once
		if to := m.hosts[w.Pairs[i].To]; to != nil {
			w.Pairs[i].To = to.Name
		}
	}
	if w.At.After(m.windows[w.Host].At) {
		m.windows[w.Host] = w
		k.totals.add(&w)
		m.rememberSlow(w.Host, w.Slow)
	}
}

// judgeAll judges each window when it is complete.
func (m *Monitor) judgeAll(ctx context.Context) {
	for {
		now := time.Now()
		end := now.Truncate(m.cfg.Window).Add(m.cfg.Window)
		if sleep(ctx, end.Add(min(grace, m.cfg.Window/2)).Sub(now)) != nil {
			return
		}
		m.judgeWindow(end)
	}
}

// judgeWindow looks at the windows that ended at a time, by the monitor's clock.
func (m *Monitor) judgeWindow(end time.Time) {
	hosts, windows := m.judged(end)
	sum, found := summarize(end, hosts, windows), m.judge.find(hosts, windows) // what takes long holds up nobody
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sum = sum
	for _, s := range sum.between {
		m.counts.probes, m.counts.lost = m.counts.probes+uint64(s.Sent), m.counts.lost+uint64(s.Lost)
	}
	for _, a := range m.judge.decide(end, found) {
		if a.Ended.IsZero() {
			m.counts.raised[a.Blame]++
		}
		m.note(Event{At: end, Says: a.Says, Alarm: &a})
	}
	m.tell() // there are new windows
}

// judged are the hosts that are to be judged, and their windows that are in time.
func (m *Monitor) judged(end time.Time) (hosts []Host, windows []Window) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, h := range m.sortedHosts() {
		k := m.hosts[h.Name]
		w, ok := m.windows[h.Name]
		if !ok && end.Sub(k.last) < 2*m.cfg.Window {
			continue // it has just come
		}
		hosts = append(hosts, h)
		if ok && w.At.Add(-k.clock).After(end.Add(-m.cfg.Window/2)) {
			windows = append(windows, w)
		}
	}
	return hosts, windows
}

// Hosts are those that have joined, by name.
func (m *Monitor) Hosts() []Host {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sortedHosts()
}

// Alarms are those that have not ended.
func (m *Monitor) Alarms() []Alarm {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.judge.Active()
}

// Events are what has happened, the latest at the end.
func (m *Monitor) Events() []Event {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.events)
}

// Windows are the latest of all hosts, by name.
func (m *Monitor) Windows() []Window {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make([]Window, 0, len(m.windows))
	for _, w := range m.windows {
		all = append(all, w)
	}
	slices.SortFunc(all, func(a, b Window) int { return cmp.Compare(a.Host, b.Host) })
	return all
}
