package full

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	middleware "github.com/braid-rdma/braid"
	"github.com/braid-rdma/braid/cm"
	"github.com/braid-rdma/braid/cmd/braid/internal/cli"
	"github.com/braid-rdma/braid/monitor"
	"github.com/braid-rdma/braid/udp"
)

// demoWindow is how often the agents of the demonstration report.
const demoWindow = 2 * time.Second

// runDemoMonitor is `braid demo --monitor`: a monitor with its page, two agents and traffic, all in this process, until it is interrupted or
// for a time. It fails if the agents did not see each other.
func runDemoMonitor(cmd *cobra.Command, duration time.Duration) (err error) {
	dir, err := os.MkdirTemp("", "braid-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	m, err := monitor.Start(monitor.Config{Listen: "127.0.0.1:0", Dir: dir, Window: demoWindow})
	if err != nil {
		return err
	}
	defer m.Close()
	page, err := m.ServePage(monitor.PageConfig{Listen: "127.0.0.1:0"})
	if err != nil {
		return err
	}
	defer page.Close()
	ctx, stop := context.WithCancel(cmd.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	for i, name := range []string{"here", "there"} {
		end, err := startDemoAgent(ctx, &running, m, name, fmt.Sprintf("rack-%d", i+1), filepath.Join(dir, name))
		if err != nil {
			return err
		}
		defer end()
	}
	moved, end, err := startDemoTraffic(ctx, &running)
	if err != nil {
		return err
	}
	defer end()
	defer running.Wait() // before what it uses is closed
	defer stop()
	w := cmd.OutOrStdout()
	fmt.Fprintf(w, "page: %s\n", page.URL())
	fmt.Fprintln(w, "braid why, braid stat and braid adm find this program, too; Ctrl-C ends it")
	return watchDemo(ctx, w, m, moved, duration)
}

// startDemoAgent is a machine: a device on a loopback address of its own, with an agent.
func startDemoAgent(ctx context.Context, running *sync.WaitGroup, m *monitor.Monitor, name, rack, state string) (end func(), err error) {
	d, err := udp.Open(udp.Config{Loopback: true, Paths: 8})
	if err != nil {
		return nil, err
	}
	manager, err := cm.New(d, cm.Config{})
	if err != nil {
		d.Close()
		return nil, err
	}
	end = func() {
		manager.Close()
		d.Close()
	}
	a, err := monitor.NewAgent(monitor.AgentConfig{
		Host: monitor.Host{Name: name, Addr: d.Query().Addrs[0].String(), Rack: rack}, Manager: manager, Monitor: m.Addr(), Join: m.Join(monitor.RoleAgent), State: state,
	})
	if err != nil {
		end()
		return nil, err
	}
	running.Go(func() { _ = a.Run(ctx) }) // the context ends it
	return end, nil
}

// startDemoTraffic is a channel on which calls go to and fro; moved counts their bytes.
func startDemoTraffic(ctx context.Context, running *sync.WaitGroup) (moved *atomic.Uint64, end func(), err error) {
	server, err := middleware.Open(middleware.Config{Labels: "role=server"})
	if err != nil {
		return nil, nil, err
	}
	client, err := middleware.Open(middleware.Config{Labels: "role=client"})
	if err != nil {
		server.Close()
		return nil, nil, err
	}
	end = func() {
		client.Close()
		server.Close()
	}
	l, err := server.Listen(0)
	var ch *middleware.Channel
	if err == nil {
		running.Go(func() {
			_ = l.Serve(ctx, func(_ context.Context, m *middleware.Msg) ([]byte, error) { return m.Bytes(), nil })
		})
		ch, err = client.Dial(ctx, l.Addr().String())
	}
	if err != nil {
		end()
		return nil, nil, err
	}
	moved = new(atomic.Uint64)
	running.Go(func() {
		payload := make([]byte, 64<<10)
		for ctx.Err() == nil {
			if m, err := ch.Call(ctx, payload); err == nil {
				moved.Add(uint64(2 * m.Len()))
				m.Release()
			}
			_ = cli.Pause(ctx, time.Millisecond) // some is enough to be seen
		}
	})
	return moved, end, nil
}

// watchDemo prints a line for each window. On a machine that is so busy that the agents have not seen each other in time it waits for that, a
// minute at most.
func watchDemo(ctx context.Context, w io.Writer, m *monitor.Monitor, moved *atomic.Uint64, duration time.Duration) error {
	began, saw := time.Now(), false
	for before := uint64(0); duration == 0 || time.Since(began) < duration || !saw && time.Since(began) < duration+time.Minute; {
		if !cli.Pause(ctx, demoWindow) {
			break
		}
		s := m.State()
		sent, lost := 0, 0
		for _, c := range s.Mesh {
			sent, lost = sent+c.Sent, lost+c.Lost
		}
		saw = saw || sent > lost
		now := moved.Load()
		if _, err := fmt.Fprintf(w, "%d hosts, %d probes, %d lost, %d alarms; traffic %.2f Gb/s\n", len(s.Hosts), sent, lost, len(s.Alarms), float64(now-before)*8/1e9/demoWindow.Seconds()); err != nil {
			return err
		}
		before = now
	}
	if !saw && duration > 0 && ctx.Err() == nil {
		return errors.New("the agents did not see each other")
	}
	return nil
}
