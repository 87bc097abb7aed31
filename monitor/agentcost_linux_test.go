package monitor

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/braid-rdma/braid/cm"
	"github.com/braid-rdma/braid/udp"
)

const (
	// costVariable says for how long TestAgentCost looks, as 60s.
	costVariable = "BRAID_AGENT_COST"
	// fleetVariable makes the binary a second process: a monitor, and the hosts that the agent has to do with.
	fleetVariable = "BRAID_TEST_FLEET"
	// The agent has 100 peers: 80 in its rack and 20 in others, each of which probes it, too.
	inRack, inOthers = 80, 20
	// costLimit is what an agent may take of a core.
	costLimit = 0.02
)

// beFleet runs a monitor and the peers until standard input ends.
func beFleet() int {
	dir, err := os.MkdirTemp("", "braid-fleet-")
	if err == nil {
		defer os.RemoveAll(dir)
		err = runFleet(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func runFleet(dir string) error {
	m, err := Start(Config{Listen: "127.0.0.1:0", Dir: dir})
	if err != nil {
		return err
	}
	defer m.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for i := range inRack + inOthers {
		rack := "r0"
		if i >= inRack {
			rack = fmt.Sprintf("r%d", i)
		}
		a, _, err := openAgent(AgentConfig{Host: Host{Name: fmt.Sprintf("h%d", i), Rack: rack}, Monitor: m.Addr(), Join: m.Join(RoleAgent)}, 8)
		if err != nil {
			return err
		}
		go func() { _ = a.Run(ctx) }() // it ends with the process
	}
	fmt.Println(m.Addr(), m.Join(RoleAgent))
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// openAgent makes an agent with a device as that of `braid agent`.
func openAgent(cfg AgentConfig, paths int) (a *Agent, closeDevice func(), err error) {
	d, err := udp.Open(udp.Config{Loopback: true, Paths: paths, Spin: -1})
	if err != nil {
		return nil, nil, err
	}
	if cfg.Manager, err = cm.New(d, cm.Config{}); err != nil {
		d.Close()
		return nil, nil, err
	}
	cfg.Host.Addr = d.Query().Addrs[0].String()
	a, err = NewAgent(cfg)
	return a, func() { cfg.Manager.Close(); d.Close() }, err
}

// usage is what the process has used.
func usage(t *testing.T) (cpu time.Duration, memory int64) {
	t.Helper()
	var u syscall.Rusage
	must(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), u.Maxrss << 10
}

// rate is how many probes a second are assigned.
func (a *Agent) rate() (sum float64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, t := range a.current.Targets {
		sum += 1 / t.Every.Seconds()
	}
	return sum
}

// TestAgentCost measures what an agent with 100 peers takes of a core: all of them, and the monitor, are another process.
func TestAgentCost(t *testing.T) {
	long, err := time.ParseDuration(os.Getenv(costVariable))
	if err != nil {
		t.Skipf("SKIPPED: %s: set %s=60s to measure for that long", t.Name(), costVariable)
	}
	fleet := exec.Command("/proc/self/exe")
	fleet.Env, fleet.Stderr = append(os.Environ(), fleetVariable+"=1"), os.Stderr
	stdin, err := fleet.StdinPipe()
	must(t, err)
	stdout, err := fleet.StdoutPipe()
	must(t, err)
	must(t, fleet.Start())
	defer func() {
		stdin.Close()
		must(t, fleet.Wait())
	}()
	line, err := bufio.NewReader(stdout).ReadString('\n')
	must(t, err)
	address, join, _ := strings.Cut(strings.TrimSpace(line), " ")
	a, closeDevice, err := openAgent(AgentConfig{Host: Host{Name: "measured", Rack: "r0"}, Monitor: address, Join: join}, 128)
	must(t, err)
	defer closeDevice()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}()
	eventually(t, "it probes 100 peers", func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		return len(a.current.Targets) == inRack+inOthers
	})
	time.Sleep(10 * time.Second) // to connect is not what it does all day
	before, _ := usage(t)
	replied := a.responder.Counters().Replies
	began := time.Now()
	time.Sleep(long)
	after, memory := usage(t)
	took := time.Since(began)
	share := float64(after-before) / float64(took)
	t.Logf("%d peers for %v: %.2f %% of a core, %d MB; %.1f probes a second, and it replied to %.1f", inRack+inOthers, took.Round(time.Second), 100*share,
		memory>>20, a.rate(), float64(a.responder.Counters().Replies-replied)/took.Seconds())
	if share > costLimit {
		t.Errorf("%.2f %% of a core, want at most %.0f %%", 100*share, 100*costLimit)
	}
}
