package monitor

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/sys/unix"
)

// swarm is many agents with simulated hosts and a simulated network: their connections to the monitor and all messages are real.
type swarm struct {
	Addr, Join string
	Hosts      int
	PerRack    int
	Window     time.Duration
	Dead       string // a host that replies to nobody
	Cut        string // a rack that is cut off

	racks        map[string]string // by host
	kept, stored atomic.Int64      // windows that had to be kept for later, and that were stored
	greeted      atomic.Int64      // hellos that had a reply
	same         atomic.Int64      // of which said that nothing is new
}

func (s *swarm) host(i int) Host {
	rack := fmt.Sprintf("rack%04d", i/s.PerRack)
	return Host{Name: fmt.Sprintf("%s-host%02d.example", rack, i%s.PerRack), Addr: fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255), Rack: rack, Paths: 128}
}

// dialers is how many agents connect at the same time.
const dialers = 32

// run runs all agents until the context ends.
func (s *swarm) run(ctx context.Context) error {
	s.racks = map[string]string{}
	for i := range s.Hosts {
		h := s.host(i)
		s.racks[h.Name] = h.Rack
	}
	var all sync.WaitGroup
	defer all.Wait()
	turns := make(chan struct{}, dialers)
	for i := range s.Hosts {
		h := s.host(i)
		if h.Name == s.Dead {
			continue
		}
		select {
		case turns <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		a := &swarmAgent{swarm: s, host: h, news: make(chan assignment, 8)}
		if err := a.connect(); err != nil {
			return fmt.Errorf("%s: %w", h.Name, err)
		}
		all.Go(func() {
			defer a.nats.Close()
			a.greet(ctx)
			<-turns
			a.run(ctx)
		})
	}
	<-ctx.Done()
	return nil
}

// swarmAgent is one agent.
type swarmAgent struct {
	*swarm
	host    Host
	nats    *nats.Conn
	news    chan assignment
	current assignment
	round   int64
	unsent  []Window
}

func (a *swarmAgent) connect() error {
	options, err := joinAs(a.Join, RoleAgent)
	if err != nil {
		return err
	}
	a.nats, err = nats.Connect("tls://"+a.Addr, append(options, nats.Name("braid agent "+a.host.Name),
		nats.MaxReconnects(-1), nats.Timeout(time.Minute))...)
	if err != nil {
		return err
	}
	_, err = a.nats.Subscribe(subjectAssign+token(a.host.Name), func(m *nats.Msg) { a.take(m.Data) })
	return err
}

func (a *swarmAgent) take(text []byte) {
	var next assignment
	if json.Unmarshal(text, &next) != nil {
		return
	}
	if next.Same {
		a.same.Add(1)
		return
	}
	select {
	case a.news <- next:
	default:
	}
}

func (a *swarmAgent) greet(ctx context.Context) {
	text, err := json.Marshal(hello{Version: version, Host: a.host, Port: 7, Now: time.Now(), Have: a.current.Digest})
	if err != nil {
		return
	}
	within, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if m, err := a.nats.RequestWithContext(within, subjectHello+token(a.host.Name), text); err == nil {
		a.greeted.Add(1)
		a.take(m.Data)
	}
}

// run reports at the end of each window, as agents do.
func (a *swarmAgent) run(ctx context.Context) {
	greet := time.NewTicker(helloEvery)
	defer greet.Stop()
	for {
		window := time.NewTimer(a.Window - time.Duration(time.Now().UnixNano())%a.Window)
		select {
		case <-ctx.Done():
			window.Stop()
			return
		case next := <-a.news:
			a.current = next
		case <-greet.C:
			a.greet(ctx)
		case at := <-window.C:
			a.report(ctx, at)
		}
		window.Stop()
	}
}

func (a *swarmAgent) report(ctx context.Context, at time.Time) {
	a.round++
	a.unsent = append(a.unsent, Window{Host: a.host.Name, At: at.Round(time.Second), Pairs: a.pairs()})
	if sleep(ctx, turn(a.host.Name, a.Window)) != nil {
		return
	}
	js, err := a.nats.JetStream(nats.MaxWait(2 * time.Second))
	for err == nil && len(a.unsent) > 0 {
		w := &a.unsent[len(a.unsent)-1]
		var text []byte
		if text, err = json.Marshal(w); err != nil {
			break
		}
		if _, err = js.Publish(subjectWindow+token(w.Host), text, nats.MsgId(fmt.Sprintf("%s %d", w.Host, w.At.Unix()))); err == nil {
			a.unsent = a.unsent[:len(a.unsent)-1]
			a.stored.Add(1)
		}
	}
	if err != nil {
		a.kept.Add(1)
	}
}

// pairs is what becomes of the probes of a window.
func (a *swarmAgent) pairs() (all []Pair) {
	for i := range a.current.Targets {
		t := &a.current.Targets[i]
		phase := time.Duration(hash(a.host.Name, t.Host) % uint64(t.Every))
		first, last := (time.Duration(a.round-1)*a.Window+phase)/t.Every, (time.Duration(a.round)*a.Window+phase)/t.Every
		sent := map[int]int{}
		for n := first; n < last; n++ {
			sent[t.Paths[int(n)%len(t.Paths)]]++
		}
		for path, n := range sent {
			p := Pair{To: t.Host, Path: path, Sent: n, Network: time.Duration(10_000 + hash(a.host.Name, t.Host, fmt.Sprint(path))%20_000), Responder: 4321, Prober: 3456}
			from, to := a.host.Rack, a.racks[t.Host]
			if t.Host == a.Dead || from != to && (from == a.Cut || to == a.Cut) {
				p.Lost, p.Network, p.Responder, p.Prober = n, 0, 0, 0
			}
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(x, y Pair) int { return cmp.Or(cmp.Compare(x.To, y.To), x.Path-y.Path) })
	return all
}

// swarmVariable has a swarm as JSON, for the process that runs it.
const swarmVariable = "BRAID_SWARM"

// TestSwarm is the process of the agents of TestScale.
func TestSwarm(t *testing.T) {
	text := os.Getenv(swarmVariable)
	if text == "" {
		t.Skip("it is a process of TestScale")
	}
	var s swarm
	must(t, json.Unmarshal([]byte(text), &s))
	ctx, cancel := context.WithCancel(t.Context())
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); cancel() }() // until the other process ends it
	must(t, s.run(ctx))
	fmt.Printf("agents: %d windows stored, %d kept for later; %d hellos, of which %d were told that nothing is new\n", s.stored.Load(), s.kept.Load(), s.greeted.Load(), s.same.Load())
}

// TestScale has many agents with simulated hosts: a dead host and a rack that is cut off are named, and what the page asks for stays small.
// BRAID_SCALE=4000 runs so many, in a process of their own, and prints what the monitor costs; otherwise there are a few in this process.
func TestScale(t *testing.T) {
	s := &swarm{Hosts: 120, PerRack: 10, Window: 2 * time.Second}
	apart := false
	if text := os.Getenv("BRAID_SCALE"); text != "" {
		n, err := strconv.Atoi(text)
		must(t, err)
		s.Hosts, s.PerRack, s.Window, apart = n, 20, defaultWindow, true
	}
	s.Dead, s.Cut = s.host(s.Hosts/2).Name, s.host(s.Hosts/3).Rack
	m, err := Start(Config{Listen: "127.0.0.1:0", Dir: t.TempDir(), Window: s.Window, Log: testLog(t)})
	must(t, err)
	t.Cleanup(m.Close)
	p, err := m.ServePage(PageConfig{Listen: "127.0.0.1:0"})
	must(t, err)
	t.Cleanup(p.Close)
	// The dead host has joined before it died.
	join(t, m, s.host(s.Hosts/2))
	s.Addr, s.Join = m.Addr(), m.Join(RoleAgent)
	begun, before := time.Now(), processor()
	stop := s.start(t, apart)
	patiently(t, "all have joined", func() bool { return len(m.Hosts()) == s.Hosts })
	t.Logf("%d hosts in %d racks have joined after %.1f s, with %.1f s of processor time", s.Hosts, s.Hosts/s.PerRack, time.Since(begun).Seconds(), (processor() - before).Seconds())
	patiently(t, "the faults are named, and nothing else", func() bool {
		return alarmed(m, BlameHost, s.Dead) && alarmed(m, BlameRack, s.Cut) && len(m.Alarms()) == 2
	})
	t.Logf("a dead host and a rack that is cut off, and nothing else, are named after %.0f s", time.Since(begun).Seconds())
	for _, e := range m.Events() {
		if e.Alarm != nil {
			t.Logf("after %.0f s: %v", e.At.Sub(begun).Seconds(), &e)
		}
	}
	if apart {
		measureWindows(t, m, s)
	}
	measurePage(t, p, s)
	stop()
}

// start runs the agents here, or in a process of their own.
func (s *swarm) start(t *testing.T, apart bool) (stop func()) {
	t.Helper()
	if !apart {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.run(ctx) }()
		stop = sync.OnceFunc(func() { cancel(); must(t, <-done) })
		t.Cleanup(stop)
		return stop
	}
	text, err := json.Marshal(s)
	must(t, err)
	c := exec.Command(os.Args[0], "-test.run=^TestSwarm$", "-test.v", "-test.timeout=60m")
	c.Env = append(os.Environ(), swarmVariable+"="+string(text))
	in, err := c.StdinPipe()
	must(t, err)
	var out strings.Builder
	c.Stdout, c.Stderr = &out, &out
	must(t, c.Start())
	stop = sync.OnceFunc(func() {
		in.Close()
		err := c.Wait()
		t.Log(out.String())
		must(t, err)
	})
	t.Cleanup(stop)
	return stop
}

func patiently(t *testing.T, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(15 * time.Minute); !so(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("not so: " + what)
		}
	}
}

// processor is the processor time of this process.
func processor() time.Duration {
	var use unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &use) // it cannot fail
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

// resident is the memory of this process, and the most that it was.
func resident(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	must(t, err)
	var all []string
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "VmRSS") || strings.HasPrefix(line, "VmHWM") {
			all = append(all, strings.Join(strings.Fields(line), " "))
		}
	}
	return strings.Join(all, ", ")
}

// live is the memory that is in use.
func live() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

// measureWindows tells what four windows cost.
func measureWindows(t *testing.T, m *Monitor, s *swarm) {
	t.Helper()
	count := func() uint64 {
		m.mu.Lock()
		defer m.mu.Unlock()
		return m.counts.received
	}
	const windows = 4
	begun, before, got := time.Now(), processor(), count()
	time.Sleep(windows * s.Window)
	used := processor() - before
	t.Logf("%d windows: %.2f s of processor time each, %.1f %% of a core; %d reports; %s", windows, used.Seconds()/windows, 100*used.Seconds()/time.Since(begun).Seconds(), count()-got, resident(t))
	live := live()
	t.Logf("memory in use after a collection: %d MB", live>>20)
	state := m.store.now()
	t.Logf("stored: %d messages, %d MB", state.Windows, state.Bytes>>20)
	judging := time.Now()
	hosts, all := m.judged(judging)
	pairs := 0
	for i := range all {
		pairs += len(all[i].Pairs)
	}
	summarize(judging, hosts, all)
	added := time.Now()
	m.judge.find(hosts, all)
	t.Logf("%d windows of %d pairs: %v to add them up, %v to judge them", len(all), pairs, added.Sub(judging).Round(time.Millisecond), time.Since(added).Round(time.Millisecond))
}

// measurePage asks for what the page asks for, and checks that it is small enough.
func measurePage(t *testing.T, p *Page, s *swarm) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableCompression: true, DisableKeepAlives: true}}
	for _, path := range []string{"api/state", "api/racks", "api/mesh?from=" + s.Cut + "&to=" + s.host(0).Rack, "api/host?name=" + s.Dead, "metrics"} {
		q, err := http.NewRequestWithContext(t.Context(), "GET", p.URL()+path, nil)
		must(t, err)
		sizes := [2]int{}
		var took time.Duration
		for i, encoding := range []string{"identity", "gzip"} {
			q.Header.Set("Accept-Encoding", encoding)
			begun := time.Now()
			r, err := client.Do(q)
			must(t, err)
			text, err := io.ReadAll(r.Body)
			must(t, err)
			r.Body.Close()
			if r.StatusCode != http.StatusOK {
				t.Fatalf("%s: %s", path, r.Status)
			}
			sizes[i], took = len(text), max(took, time.Since(begun))
		}
		t.Logf("/%s: %d KB, compressed %d KB, in %v", path, sizes[0]>>10, sizes[1]>>10, took.Round(100*time.Microsecond))
		if sizes[1] > 1<<20 {
			t.Errorf("/%s is too large for a page", path)
		}
	}
}
