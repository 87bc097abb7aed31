package monitor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/braid-rdma/braid/cm"
	"github.com/braid-rdma/braid/internal/ping"
)

const (
	// kept is for how long an agent keeps its windows while the monitor is away.
	kept = time.Hour
	// probeTimeout is after what a probe is lost.
	probeTimeout = 500 * time.Millisecond
	// helloEvery is how often an agent says who it is: the monitor may have been started anew.
	helloEvery = time.Minute
	// callSpread is within what time agents introduce themselves when a monitor asks all of them.
	callSpread = 2 * time.Second
)

// AgentConfig is that of an agent.
type AgentConfig struct {
	Host    Host
	Manager *cm.Manager // on whose device it probes and responds
	Port    uint16      // of its responder; 0: a free one
	Monitor string      // address, host:port
	Join    string      // what the monitor printed
	// External is the cluster where the monitor is, instead of Monitor and Join.
	External External
	State    string // a file for the last assignment; empty: it is not kept
	// Switches are the counters of switches, since whenever, for who can read them; nil: nobody can.
	Switches func() ([]SwitchPort, error)
	// ReadOnly keeps operators from changing the programs of this machine by way of the monitor.
	ReadOnly bool
	// Collector is the endpoint of an OpenTelemetry collector that gets the traces of programs as spans, by OTLP over HTTP, such as
	// http://127.0.0.1:4318; empty: none. CollectorHeaders are sent with each request, as NAME=VALUE,NAME=VALUE.
	Collector, CollectorHeaders string

	Log *slog.Logger
	// SourcePort is the source port of a path of the device; nil: it is not told.
	SourcePort func(path int) uint16
}

// Agent probes and responds on one machine.
type Agent struct {
	cfg       AgentConfig
	prober    *ping.Prober
	responder *ping.Responder
	nats      *nats.Conn
	seen      seen
	collected collector
	switches  switches
	questions chan struct{} // holds one for each that is worked at
	ctx       context.Context
	end       context.CancelFunc

	mu      sync.Mutex
	current assignment
	running map[string]context.CancelFunc // probing, by host
	probing sync.WaitGroup

	unsent    []Window // of the last hour, that the monitor does not have
	news      chan assignment
	connected chan struct{} // the monitor is there, for the first time or again
}

// NewAgent makes an agent. It works also where the monitor cannot be reached, and goes on trying.
func NewAgent(cfg AgentConfig) (a *Agent, err error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if err := cfg.Host.check(); err != nil {
		return nil, err
	}
	where, options, err := cfg.External.dial(cfg.Monitor, cfg.Join, RoleAgent)
	if err != nil {
		return nil, err
	}
	told, err := newSpans(cfg.Collector, cfg.CollectorHeaders, cfg.Host.Name, cfg.Log)
	if err != nil {
		return nil, err
	}
	cfg.Host.Paths = cfg.Manager.Device().Query().Paths
	a = &Agent{cfg: cfg, running: map[string]context.CancelFunc{}, news: make(chan assignment, 1), connected: make(chan struct{}, 1), questions: make(chan struct{}, maxQuestions)}
	a.collected.spans = told
	a.ctx, a.end = context.WithCancel(context.Background())
	defer func() {
		if err != nil {
			a.release()
		}
	}()
	if a.responder, err = ping.NewResponder(cfg.Manager, ping.ResponderOptions{Port: cfg.Port, SourcePort: cfg.SourcePort}); err != nil {
		return nil, err
	}
	if a.prober, err = ping.NewProber(cfg.Manager, ping.ProberOptions{SourcePort: cfg.SourcePort}); err != nil {
		return nil, err
	}
	a.nats, err = nats.Connect(where, append(options, nats.Name("braid agent "+cfg.Host.Name),
		nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.ReconnectBufSize(-1),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) { cfg.Log.Warn("the monitor is away", "error", err) }),
		nats.ConnectHandler(func(*nats.Conn) { a.found() }), nats.ReconnectHandler(func(*nats.Conn) { a.found() }))...)
	if err != nil {
		return nil, fmt.Errorf("monitor %s: %w", cfg.Monitor, err)
	}
	if _, err = a.nats.Subscribe(subjectCall, func(*nats.Msg) { time.AfterFunc(rand.N(callSpread), a.found) }); err != nil {
		return nil, err
	}
	name := token(cfg.Host.Name)
	if _, err = a.nats.Subscribe(subjectAssign+name, func(m *nats.Msg) { a.assigned(m.Data) }); err != nil {
		return nil, err
	}
	if _, err = a.nats.Subscribe(subjectRead+name, func(m *nats.Msg) { a.asked(m, false) }); err != nil {
		return nil, err
	}
	_, err = a.nats.Subscribe(subjectChange+name, func(m *nats.Msg) { a.asked(m, true) })
	return a, err
}

// found is called when there is a monitor: it may know nothing of this agent.
func (a *Agent) found() {
	select {
	case a.connected <- struct{}{}:
	default:
	}
}

func (a *Agent) release() {
	a.end()
	if a.nats != nil {
		a.nats.Close()
	}
	if a.prober != nil {
		a.prober.Close()
	}
	if a.responder != nil {
		a.responder.Close()
	}
}

// Run probes and reports until the context ends.
func (a *Agent) Run(ctx context.Context) error {
	defer a.release()
	ctx, stop := context.WithCancel(ctx)
	serving := make(chan error, 1)
	go func() { serving <- a.responder.Serve(ctx) }()
	a.probing.Go(func() { a.collected.run(ctx, a.windowLength) })
	if told := a.collected.spans; told != nil {
		a.probing.Go(func() { told.run(ctx) })
	}
	a.restore()
	greet, window := time.NewTicker(helloEvery), time.NewTimer(a.untilWindow())
	defer greet.Stop()
	defer window.Stop()
	var err error
	for err == nil && ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case err = <-serving:
			serving <- err
		case next := <-a.news:
			a.follow(ctx, next)
			window.Reset(a.untilWindow())
		case <-a.connected:
			a.introduce(ctx)
		case <-greet.C:
			a.introduce(ctx)
		case at := <-window.C:
			a.report(ctx, at)
			window.Reset(a.untilWindow())
		}
	}
	stop()
	a.mu.Lock()
	a.end() // and nothing is begun any more
	a.mu.Unlock()
	a.probing.Wait()
	if served := <-serving; err == nil && ctx.Err() == nil {
		err = served
	}
	return err
}

// untilWindow is the time until the present window ends. All agents end theirs at the same moments, if their clocks agree.
func (a *Agent) untilWindow() time.Duration {
	length := a.windowLength()
	return length - time.Duration(time.Now().UnixNano())%length
}

func (a *Agent) windowLength() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return max(time.Second, cmp.Or(a.current.Window, defaultWindow))
}

// following is the digest of what the agent does.
func (a *Agent) following() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.current.Digest
}

// introduce tells the monitor who this is, and takes what it assigns. One that is away is asked again later.
func (a *Agent) introduce(ctx context.Context) {
	text, err := json.Marshal(hello{Version: version, Host: a.cfg.Host, Port: a.responder.Addr().Port(), Now: time.Now(), Have: a.following()})
	if err != nil || !a.nats.IsConnected() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	m, err := a.nats.RequestWithContext(ctx, subjectHello+token(a.cfg.Host.Name), text)
	if err != nil {
		a.cfg.Log.Warn("the monitor does not respond", "error", err)
		time.AfterFunc(time.Second, a.found)
		return
	}
	a.assigned(m.Data)
}

// assigned takes an assignment, if it is one.
func (a *Agent) assigned(text []byte) {
	var next assignment
	if err := json.Unmarshal(text, &next); err != nil || next.Version == 0 {
		a.cfg.Log.Warn("not an assignment", "error", err)
		return
	}
	if next.Same {
		return
	}
	select {
	case <-a.news: // which is older
	default:
	}
	a.news <- next
}

// restore takes up the last assignment: the monitor may be away for long.
func (a *Agent) restore() {
	if a.cfg.State == "" {
		return
	}
	text, err := os.ReadFile(a.cfg.State)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		a.cfg.Log.Warn("the last pinglist cannot be read", "error", err)
		return
	}
	a.assigned(text)
}

// keep stores an assignment, so that either the old one or the new one is there whatever happens.
func (a *Agent) keep(next *assignment) error {
	if a.cfg.State == "" {
		return nil
	}
	text, err := json.Marshal(next)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(a.cfg.State), 0o700); err != nil {
		return err
	}
	fresh := a.cfg.State + ".new"
	if err := os.WriteFile(fresh, text, 0o600); err != nil {
		return err
	}
	return os.Rename(fresh, a.cfg.State)
}

// follow does what is assigned: what is new is begun, what is gone ended, and the rest goes on.
func (a *Agent) follow(ctx context.Context, next assignment) {
	a.mu.Lock()
	before := a.current
	a.current = next
	a.mu.Unlock()
	if next.Serial != before.Serial {
		if err := a.keep(&next); err != nil {
			a.cfg.Log.Warn("the pinglist cannot be kept", "error", err)
		}
	}
	wanted := map[string]assigned{}
	for _, t := range next.Targets {
		wanted[t.Host] = t
	}
	for _, t := range before.Targets {
		if same, ok := wanted[t.Host]; ok && equal(&same, &t) {
			delete(wanted, t.Host) // it goes on
		} else if stop := a.running[t.Host]; stop != nil {
			stop()
			delete(a.running, t.Host)
		}
	}
	for name, t := range wanted {
		within, stop := context.WithCancel(ctx)
		a.running[name] = stop
		a.probing.Go(func() { a.probe(within, &t) })
	}
}

func equal(a, b *assigned) bool {
	return a.Addr == b.Addr && a.Port == b.Port && a.Every == b.Every && slices.Equal(a.Paths, b.Paths) && slices.Equal(a.Sizes, b.Sizes)
}

// probe probes one target. While it has no responder each probe that is due counts as lost.
func (a *Agent) probe(ctx context.Context, t *assigned) {
	every := max(t.Every, time.Millisecond)
	delay := rand.N(every)
	for n := 0; ctx.Err() == nil; n++ {
		within, cancel := context.WithTimeout(ctx, max(probeTimeout, time.Second))
		peer, err := a.prober.Connect(within, t.Addr, t.Port)
		cancel()
		if err == nil {
			schedule := &ping.Schedule{By: []ping.By{ping.UD}, Paths: t.Paths, Sizes: t.Sizes, Delay: delay, Interval: every, Timeout: probeTimeout}
			peer.Run(ctx, schedule, func(r ping.Result) { a.seen.add(t.Host, &r) })
			peer.Close()
			return
		}
		if ctx.Err() == nil {
			a.seen.lost(t.Host, t.Paths[n%len(t.Paths)])
		}
		if sleep(ctx, every) != nil {
			return
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// turn is how long after the end of a window a host reports it: not all at the same moment.
func turn(host string, window time.Duration) time.Duration {
	return time.Duration(hash(host) % uint64(min(2*time.Second, window/8)))
}

// report sends the window that has ended, and those before it that the monitor does not have.
func (a *Agent) report(ctx context.Context, at time.Time) {
	w := Window{Host: a.cfg.Host.Name, At: at.Round(time.Second), Pairs: a.seen.take()}
	w.Programs, w.Slow = a.collected.take()
	if a.cfg.Switches != nil {
		if ports, err := a.cfg.Switches(); err != nil {
			a.cfg.Log.Warn("the counters of the switches cannot be read", "error", err)
		} else {
			w.Switches = a.switches.since(ports)
		}
	}
	a.unsent = append(a.unsent, w)
	if most := int(kept / a.windowLength()); len(a.unsent) > most {
		a.unsent = slices.Delete(a.unsent, 0, len(a.unsent)-most)
	}
	if sleep(ctx, turn(a.cfg.Host.Name, a.windowLength())) != nil || !a.nats.IsConnected() {
		return
	}
	js, err := a.nats.JetStream(nats.MaxWait(min(2*time.Second, a.windowLength()/2))) // the next window waits for it
	for err == nil && len(a.unsent) > 0 {
		var text []byte
		// The latest first: a monitor that cannot store anything judges what it sees.
		next := &a.unsent[len(a.unsent)-1]
		if text, err = json.Marshal(next); err != nil {
			break
		}
		id := fmt.Sprintf("%s %d", w.Host, next.At.Unix()) // sent twice it is stored once
		if _, err = js.Publish(subjectWindow+token(w.Host), text, nats.MsgId(id)); err == nil {
			a.unsent = a.unsent[:len(a.unsent)-1]
		}
	}
	if err != nil {
		a.cfg.Log.Warn("a window is kept for later", "error", err, "windows", len(a.unsent))
	}
}
