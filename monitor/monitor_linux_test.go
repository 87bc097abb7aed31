package monitor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"go.uber.org/goleak"

	"github.com/braid-rdma/braid/cm"
	"github.com/braid-rdma/braid/udp"
	"github.com/braid-rdma/braid/verbs"
)

func TestMain(m *testing.M) {
	if os.Getenv(fleetVariable) != "" {
		os.Exit(beFleet())
	}
	goleak.VerifyTestMain(m)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// quick is a monitor for tests.
func quick(t *testing.T, dir string) *Monitor {
	t.Helper()
	m, err := Start(Config{Listen: "127.0.0.1:0", Dir: dir, Window: time.Second, Mesh: Mesh{RackRate: 50, FabricRate: 50}, Log: testLog(t)})
	must(t, err)
	t.Cleanup(m.Close)
	return m
}

func testLog(t *testing.T) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), nil))
}

// machine is a host of a test: an address on loopback with an agent.
type machine struct {
	name   string
	device *verbs.Device
	cfg    AgentConfig
	stop   func()
}

func newMachine(t *testing.T, m *Monitor, name, rack string) *machine {
	t.Helper()
	return newMachineOf(t, AgentConfig{Monitor: m.Addr(), Join: m.Join(RoleAgent)}, name, rack)
}

// newMachineOf has an agent that finds its monitor as the configuration says.
func newMachineOf(t *testing.T, cfg AgentConfig, name, rack string) *machine {
	t.Helper()
	d, err := udp.Open(udp.Config{Loopback: true, Paths: 4})
	must(t, err)
	t.Cleanup(func() { d.Close() })
	manager, err := cm.New(d, cm.Config{})
	must(t, err)
	t.Cleanup(func() { manager.Close() })
	cfg.Host, cfg.Manager = Host{Name: name, Addr: d.Query().Addrs[0].String(), Rack: rack}, manager
	cfg.State, cfg.Log = filepath.Join(t.TempDir(), "pinglist.json"), testLog(t).With("agent", name)
	x := &machine{name: name, device: d, cfg: cfg}
	x.start(t)
	return x
}

// start runs the agent until it is stopped, or the test is over.
func (x *machine) start(t *testing.T) {
	t.Helper()
	a, err := NewAgent(x.cfg)
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := a.Run(ctx); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("agent %s: %v", x.name, err)
		}
	}()
	x.stop = sync.OnceFunc(func() { cancel(); <-done })
	t.Cleanup(x.stop)
}

// eventually waits until something is so.
func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !so(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("not so: " + what)
		}
	}
}

// sees says whether all of some hosts have had replies from all the others in their latest windows.
func sees(m *Monitor, names ...string) bool {
	for _, from := range names {
		for _, to := range names {
			if from != to && !slices.ContainsFunc(m.Windows(), func(w Window) bool {
				return w.Host == from && slices.ContainsFunc(w.Pairs, func(p Pair) bool { return p.To == to && p.Sent > p.Lost })
			}) {
				return false
			}
		}
	}
	return true
}

func alarmed(m *Monitor, blame Blame, of string) bool {
	return slices.ContainsFunc(m.Alarms(), func(a Alarm) bool { return a.Blame == blame && a.Of == of })
}

// TestMesh has three hosts probe each other: they join, and see each other; one that dies is named, and its return ends the alarm.
func TestMesh(t *testing.T) {
	t.Parallel()
	m := quick(t, t.TempDir())
	newMachine(t, m, "a", "r1")
	newMachine(t, m, "b", "r1")
	c := newMachine(t, m, "c", "r2")
	eventually(t, "all see each other", func() bool { return sees(m, "a", "b", "c") })
	eventually(t, "the state tells so", func() bool {
		c, err := Dial(m.Addr(), m.Join(RoleReader))
		must(t, err)
		defer c.Close()
		state, err := c.State(t.Context())
		must(t, err)
		return len(state.Hosts) == 3 && len(state.Mesh) == 6 && !state.Hosts[2].Stale && state.Mesh[0].Sent > 0
	})
	c.stop()
	eventually(t, "the dead host is named", func() bool { return alarmed(m, BlameHost, "c") })
	c.start(t)
	eventually(t, "the alarm ends", func() bool { return !alarmed(m, BlameHost, "c") && !alarmed(m, BlameNoData, "c") })
	if !slices.ContainsFunc(m.Events(), func(e Event) bool { return e.Alarm != nil && e.Alarm.Of == "c" && !e.Alarm.Ended.IsZero() }) {
		t.Errorf("the end is not among the events: %+v", m.Events())
	}
}

// TestMonitorIsStartedAgain checks that agents go on without the monitor, and are known to the next one, which has the windows of the time between.
func TestMonitorIsStartedAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := quick(t, dir)
	addr, join := first.Addr(), first.Join(RoleAgent)
	newMachine(t, first, "a", "r1")
	newMachine(t, first, "b", "r1")
	eventually(t, "both see each other", func() bool { return sees(first, "a", "b") })
	first.Close()
	away := time.Now()
	time.Sleep(2 * time.Second) // windows that end without a monitor
	again, err := Start(Config{Listen: addr, Dir: dir, Window: time.Second, Mesh: Mesh{RackRate: 50, FabricRate: 50}, Log: testLog(t)})
	must(t, err)
	t.Cleanup(again.Close)
	back := time.Now()
	if again.Join(RoleAgent) != join {
		t.Error("the token has changed")
	}
	eventually(t, "both see each other again", func() bool { return sees(again, "a", "b") })
	eventually(t, "the windows of the time between are stored", func() bool {
		return storedBetween(t, again, away, back) >= 2
	})
}

// storedBetween counts the windows in the stream that ended in a time.
func storedBetween(t *testing.T, m *Monitor, from, to time.Time) int {
	t.Helper()
	n, err := tryStoredBetween(m, from, to)
	must(t, err)
	return n
}

// tryStoredBetween is that of a store that may not be there.
func tryStoredBetween(m *Monitor, from, to time.Time) (n int, err error) {
	js, err := m.nats.JetStream()
	if err != nil {
		return 0, err
	}
	sub, err := js.SubscribeSync(subjectWindow+"*", nats.OrderedConsumer())
	if err != nil {
		return 0, err
	}
	defer func() { _ = sub.Unsubscribe() }()
	for {
		msg, err := sub.NextMsg(200 * time.Millisecond)
		if errors.Is(err, nats.ErrTimeout) {
			return n, nil
		}
		if err != nil {
			return n, err
		}
		var w Window
		if err := json.Unmarshal(msg.Data, &w); err != nil {
			return n, err
		}
		if w.At.After(from) && w.At.Before(to) {
			n++
		}
	}
}

// TestAgentKeepsItsPinglist checks that an agent that is started while the monitor is away probes whom it did before.
func TestAgentKeepsItsPinglist(t *testing.T) {
	t.Parallel()
	m := quick(t, t.TempDir())
	a := newMachine(t, m, "a", "r1")
	newMachine(t, m, "b", "r1")
	eventually(t, "both see each other", func() bool { return sees(m, "a", "b") })
	a.stop()
	m.Close()
	agent, err := NewAgent(a.cfg)
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = agent.Run(ctx) }()
	eventually(t, "it probes", func() bool {
		agent.seen.mu.Lock()
		defer agent.seen.mu.Unlock()
		for key, f := range agent.seen.flows {
			if key.to == "b" && f.sent > f.lost {
				return true
			}
		}
		return false
	})
	cancel()
	<-done
}

// TestStrangers checks that nobody joins without the token, and no agent joins another monitor.
func TestStrangers(t *testing.T) {
	t.Parallel()
	m := quick(t, t.TempDir())
	_, fingerprint, secret, err := parseJoin(m.Join(RoleAgent))
	must(t, err)
	connect := func(o ...nats.Option) error {
		c, err := nats.Connect("tls://"+m.Addr(), append(o, nats.MaxReconnects(0))...)
		if err == nil {
			c.Close()
		}
		return err
	}
	if err := connect(nats.Secure(pinned(fingerprint)), nats.UserInfo(string(RoleAgent), secret), nats.CustomInboxPrefix(RoleAgent.inbox())); err != nil {
		t.Error(err)
	}
	if err := connect(nats.Secure(pinned(fingerprint)), nats.UserInfo(string(RoleAgent), "guessed")); err == nil {
		t.Error("a wrong secret is taken")
	}
	if err := connect(nats.Secure(pinned(fingerprint))); err == nil {
		t.Error("no secret is needed")
	}
	fingerprint[3]++
	if err := connect(nats.Secure(pinned(fingerprint)), nats.UserInfo(string(RoleAgent), secret), nats.CustomInboxPrefix(RoleAgent.inbox())); err == nil || !strings.Contains(err.Error(), "not the monitor") {
		t.Errorf("another monitor is trusted: %v", err)
	}
	for _, text := range []string{"", "braid1.", "braid1.x.y", "braid1.agent.x.y", m.Join(RoleAgent)[1:], strings.Replace(m.Join(RoleAgent), ".", "", 2)} {
		if _, _, _, err := parseJoin(text); !errors.Is(err, ErrJoin) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestBadAgents has an agent that lies: what it says is refused, and others go on.
func TestBadAgents(t *testing.T) {
	t.Parallel()
	m := quick(t, t.TempDir())
	_, fingerprint, secret, err := parseJoin(m.Join(RoleAgent))
	must(t, err)
	c, err := nats.Connect("tls://"+m.Addr(), nats.Secure(pinned(fingerprint)), nats.UserInfo(string(RoleAgent), secret), nats.CustomInboxPrefix(RoleAgent.inbox()))
	must(t, err)
	defer c.Close()
	good := Host{Name: "good", Addr: "127.0.0.1", Rack: "r"}
	for i, h := range []hello{
		{Host: Host{Name: "", Addr: "127.0.0.1"}},
		{Host: Host{Name: "x\n", Addr: "127.0.0.1"}},
		{Host: Host{Name: strings.Repeat("x", 300), Addr: "127.0.0.1"}},
		{Host: Host{Name: "x", Addr: "nowhere"}},
		{Host: Host{Name: "x", Addr: "127.0.0.1", Rack: "\x00"}},
	} {
		text, err := json.Marshal(h)
		must(t, err)
		must(t, c.Publish(subjectHello+token(h.Host.Name+fmt.Sprint(i)), text))
		must(t, c.Publish(subjectHello+"zz", text))
	}
	must(t, c.Publish(subjectHello+"zz", []byte("nonsense")))
	must(t, c.Publish(subjectWindow+token("good"), []byte("nonsense")))
	must(t, c.Publish(subjectWindow+token("good"), []byte(`{"host":"good","pairs":[{"to":"x","sent":1,"lost":2}]}`)))
	text, err := json.Marshal(hello{Version: version, Host: good, Port: 1, Now: time.Now().Add(3 * time.Hour)})
	must(t, err)
	_, err = c.Request(subjectHello+token("good"), text, 10*time.Second)
	must(t, err)
	if hosts := m.Hosts(); !slices.Equal(hosts, []Host{good}) || len(m.Windows()) != 0 {
		t.Errorf("hosts %+v, windows %+v", hosts, m.Windows())
	}
	if !slices.ContainsFunc(m.Events(), func(e Event) bool { return strings.Contains(e.Says, "clock of good is wrong by 3h") }) {
		t.Errorf("a wrong clock is not told: %+v", m.Events())
	}
}
