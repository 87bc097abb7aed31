package trials

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/braid-rdma/braid/experiments/table"
	"github.com/braid-rdma/braid/lab"
	"github.com/braid-rdma/braid/monitor"
)

// watchWindow is how often agents report in the trial.
const watchWindow = time.Second

// watched is a lab with a monitor and an agent on each host.
type watched struct {
	*session
	monitor *monitor.Monitor
	page    *monitor.Page
	guests  map[string]*guest
}

// guest is a host with its agent, and its way to the monitor, which is beside the network of the lab.
type guest struct {
	process *os.Process
	end     func()
	tunnel  *tunnel
}

// trouble is something that is wrong, and what is to be said about it.
type trouble struct {
	name  string
	blame []monitor.Blame
	of    string // what is named; empty: anything
	says  string // what must be said
	begin func(*watched) (heal func(), err error)
}

// troubles are caused one by one.
func (w *watched) troubles() []trouble {
	hosts := w.network.Hosts()
	victim := hosts[len(hosts)-1]
	return []trouble{
		{"a host is stopped", []monitor.Blame{monitor.BlameHost}, victim, "", func(w *watched) (func(), error) {
			return func() { _ = w.guests[victim].process.Signal(syscall.SIGCONT) }, w.guests[victim].process.Signal(syscall.SIGSTOP)
		}},
		{"a host is overloaded", []monitor.Blame{monitor.BlameOverload}, victim, "", func(w *watched) (func(), error) { return w.stutter(victim), nil }},
		{"an agent cannot report", []monitor.Blame{monitor.BlameNoData}, victim, "", func(w *watched) (func(), error) {
			return w.guests[victim].tunnel.cut(), nil
		}},
		{"a spine loses a fifth", []monitor.Blame{monitor.BlamePath}, "", "Switch s1 dropped", func(w *watched) (func(), error) {
			return func() { _ = w.network.Restore(1) }, w.network.SetLoss(1, 0.2, lab.Both)
		}},
		{"a spine is cut", []monitor.Blame{monitor.BlamePath}, "", "Switch s2 dropped", func(w *watched) (func(), error) {
			return func() { _ = w.network.Restore(2) }, w.network.SetLoss(2, 1, lab.Both)
		}},
	}
}

// runMonitor causes faults one by one and reads what the page of the monitor is told.
func runMonitor(s *session) (err error) {
	w := &watched{session: s, guests: map[string]*guest{}}
	if err := s.build(lab.Options{HostsPerLeaf: 3}); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "braid-lab-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	w.monitor, err = monitor.Start(monitor.Config{Listen: "127.0.0.1:0", Dir: dir, Window: watchWindow, Mesh: monitor.Mesh{RackRate: 50, FabricRate: 100}})
	if err != nil {
		return err
	}
	defer w.monitor.Close()
	if w.page, err = w.monitor.ServePage(monitor.PageConfig{Listen: "127.0.0.1:0"}); err != nil {
		return err
	}
	defer w.page.Close()
	defer w.close()
	for _, host := range s.network.Hosts() {
		if err := w.welcome(host); err != nil {
			return err
		}
	}
	if _, err := w.await(func(state *monitor.State) bool { return w.complete(state) && len(state.Alarms) == 0 }); err != nil {
		return fmt.Errorf("the agents do not see each other: %w", err)
	}
	s.outcome.Grid.Columns = []string{"fault", "blamed", "after", "the monitor says"}
	all, missed := w.troubles(), 0
	for _, t := range all {
		alarm, took, err := w.suffer(&t)
		if err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		if alarm == nil {
			missed++
			alarm = &monitor.Alarm{Blame: "nobody"}
		}
		s.outcome.Grid.add(t.name, string(alarm.Blame)+" "+alarm.Of, milliseconds(took), alarm.Says)
	}
	s.judge(fmt.Sprintf("faults of %d that are not named within %v", len(all), nameTime), "", float64(missed), table.AtMost(0), "")
	return nil
}

// welcome starts the agent of a host.
func (w *watched) welcome(host string) error {
	node, err := w.network.Node(host)
	if err != nil {
		return err
	}
	t, err := newTunnel(w.network, host, w.monitor.Addr())
	if err != nil {
		return err
	}
	g := &guest{tunnel: t, end: func() {}}
	w.guests[host] = g
	switches := ""
	if len(w.guests) == 1 {
		switches = labName // one is enough
	}
	cmd, end, err := w.startProber(&prober{
		Lab: switches, Host: monitor.Host{Name: host, Addr: w.address(node).String(), Rack: fmt.Sprintf("r%d", node.Leaf)},
		Monitor: t.address(), Join: w.monitor.Join(monitor.RoleAgent),
	})
	if err == nil {
		g.process, g.end = cmd.Process, end
	}
	return err
}

func (w *watched) close() {
	for _, g := range w.guests {
		g.end()
		g.tunnel.close()
	}
}

// complete says whether all see each other.
func (w *watched) complete(state *monitor.State) bool {
	n := len(w.guests)
	seen := 0
	for _, c := range state.Mesh {
		if c.Sent > c.Lost {
			seen++
		}
	}
	return len(state.Hosts) == n && seen == n*(n-1)
}

// suffer causes a fault, waits until it is named, and until the alarm has ended.
func (w *watched) suffer(t *trouble) (named *monitor.Alarm, took time.Duration, err error) {
	w.Progress(t.name)
	began := time.Now()
	heal, err := t.begin(w)
	if err != nil {
		return nil, 0, err
	}
	state, err := w.await(func(state *monitor.State) bool { return t.named(state.Alarms) != nil })
	if state != nil {
		named = t.named(state.Alarms)
	}
	took = time.Since(began)
	if named != nil && w.Named != nil {
		err = w.Named(w.page.URL(), named)
	}
	heal()
	if err != nil && !errors.Is(err, errNotNamed) {
		return nil, took, err
	}
	if _, err := w.await(func(state *monitor.State) bool { return len(state.Alarms) == 0 }); err != nil {
		return nil, took, fmt.Errorf("an alarm does not end: %w", err)
	}
	return named, took, nil
}

// named finds what was to be said. Nothing else may be.
func (t *trouble) named(alarms []monitor.Alarm) *monitor.Alarm {
	if len(alarms) != 1 || !strings.Contains(alarms[0].Says, t.says) || !slices.Contains(t.blame, alarms[0].Blame) || t.of != "" && alarms[0].Of != t.of {
		return nil
	}
	return &alarms[0]
}

var errNotNamed = fmt.Errorf("not within %v", nameTime)

// await reads the page until it is told what is wanted.
func (w *watched) await(wanted func(*monitor.State) bool) (*monitor.State, error) {
	ctx, cancel := context.WithTimeoutCause(w.ctx, nameTime, errNotNamed)
	defer cancel()
	for {
		state, err := w.read(ctx)
		if err == nil && wanted(state) {
			return state, nil
		}
		if err == nil {
			err = w.wait(watchWindow / 10)
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			return nil, err
		}
	}
}

// read asks the page for what it shows.
func (w *watched) read(ctx context.Context) (*monitor.State, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, w.page.URL()+"api/state", nil)
	if err != nil {
		return nil, err
	}
	r, err := http.DefaultClient.Do(q)
	if err != nil {
		return nil, err
	}
	defer r.Body.Close()
	s := new(monitor.State)
	return s, json.NewDecoder(r.Body).Decode(s)
}

// stutter lets the agent of a host run only now and then, as on a machine that has too much to do.
func (w *watched) stutter(host string) (heal func()) {
	ctx, cancel := context.WithCancel(w.ctx)
	var running sync.WaitGroup
	process := w.guests[host].process
	running.Go(func() {
		for ctx.Err() == nil {
			_ = process.Signal(syscall.SIGSTOP)
			time.Sleep(60 * time.Millisecond)
			_ = process.Signal(syscall.SIGCONT)
			time.Sleep(10 * time.Millisecond)
		}
	})
	return func() {
		cancel()
		running.Wait()
	}
}

// tunnel leads from the loopback address of a host to the monitor in this process.
type tunnel struct {
	listener net.Listener
	target   string
	running  sync.WaitGroup

	mu    sync.Mutex
	isCut bool
	conns map[net.Conn]bool
}

func newTunnel(n *lab.Network, host, target string) (*tunnel, error) {
	l, err := n.Listen(host, "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	t := &tunnel{listener: l, target: target, conns: map[net.Conn]bool{}}
	t.running.Go(t.accept)
	return t, nil
}

func (t *tunnel) address() string { return t.listener.Addr().String() }

func (t *tunnel) accept() {
	for {
		near, err := t.listener.Accept()
		if err != nil {
			return // it is closed
		}
		far, err := net.Dial("tcp", t.target)
		if err != nil || !t.add(near, far) {
			near.Close()
			if far != nil {
				far.Close()
			}
			continue
		}
		for _, two := range [][2]net.Conn{{near, far}, {far, near}} {
			t.running.Go(func() {
				_, _ = io.Copy(two[0], two[1])
				two[0].Close()
				two[1].Close()
			})
		}
	}
}

// add remembers connections, so that they can be cut; false: they are.
func (t *tunnel) add(conns ...net.Conn) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range conns {
		t.conns[c] = true
	}
	return !t.isCut
}

// cut closes the tunnel until heal is called.
func (t *tunnel) cut() (heal func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.isCut = true
	for c := range t.conns {
		c.Close()
	}
	clear(t.conns)
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.isCut = false
	}
}

func (t *tunnel) close() {
	t.listener.Close()
	t.cut()
	t.running.Wait()
}
