package trials

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"

	"github.com/braid-rdma/braid/cm"
	"github.com/braid-rdma/braid/lab"
	"github.com/braid-rdma/braid/lab/traffic"
	"github.com/braid-rdma/braid/monitor"
	"github.com/braid-rdma/braid/udp"
)

// roleProber is the role of a process that is an agent of the monitor; the other roles are those of package traffic.
const roleProber = "probe"

// prober says what such a process is.
type prober struct {
	Host    monitor.Host `json:"host"`
	Monitor string       `json:"monitor"`
	Join    string       `json:"join"`
	Lab     string       `json:"lab,omitempty"` // whose switches it reads; empty: none
}

// Agent is the body of a process of a trial: a role and a specification as arguments. It ends when stdin does, and so with whoever started it.
func Agent(ctx context.Context, args []string, stdin io.Reader, stdout io.Writer) error {
	if len(args) != 2 || args[0] != roleProber {
		return traffic.Agent(ctx, args, stdin, stdout)
	}
	var p prober
	if err := json.Unmarshal([]byte(args[1]), &p); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, stdin) // until its end
		cancel()
	}()
	return p.run(ctx, stdout)
}

// run probes until the context ends. A line says that it has begun.
func (p *prober) run(ctx context.Context, stdout io.Writer) error {
	addr, err := netip.ParseAddr(p.Host.Addr)
	if err != nil {
		return err
	}
	d, err := udp.Open(udp.Config{Addr: addr, Paths: 64, Spin: -1}) // as braid agent, which does not spin
	if err != nil {
		return err
	}
	defer d.Close()
	manager, err := cm.New(d, cm.Config{})
	if err != nil {
		return err
	}
	defer manager.Close()
	cfg := monitor.AgentConfig{
		Host: p.Host, Manager: manager, Monitor: p.Monitor, Join: p.Join, SourcePort: func(path int) uint16 { return udp.SourcePortOf(d, path) },
	}
	if p.Lab != "" {
		cfg.Switches = func() ([]monitor.SwitchPort, error) { return SwitchPorts(p.Lab) }
	}
	a, err := monitor.NewAgent(cfg)
	if err != nil {
		return err
	}
	fmt.Fprintln(stdout, "probing")
	if err := a.Run(ctx); ctx.Err() == nil {
		return err
	}
	return nil
}

// startProber starts such a process in a host of the lab.
func (s *session) startProber(p *prober) (*exec.Cmd, func(), error) {
	text, err := json.Marshal(p)
	if err != nil {
		return nil, nil, err
	}
	cmd := exec.Command(s.Command[0], append(s.Command[1:], roleProber, string(text))...)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = s.network.Start(p.Host.Name, cmd)
	}
	if err != nil {
		return nil, nil, err
	}
	end := func() {
		stdin.Close()
		_ = cmd.Process.Kill() // it may be stopped
		_ = cmd.Wait()
	}
	if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		end()
		return nil, nil, fmt.Errorf("%w: in %s: the prober says nothing", traffic.ErrAgent, p.Host.Name)
	}
	return cmd, end, nil
}

// SwitchPorts are the counters of the spines of a lab, for an agent of the monitor. A spine has a port for each direction.
func SwitchPorts(name string) (all []monitor.SwitchPort, err error) {
	n, err := lab.Open(name)
	if err != nil {
		return nil, err
	}
	status, err := n.Status()
	if err != nil {
		return nil, err
	}
	for i := range status.Paths {
		p := &status.Paths[i]
		for direction, f := range map[string]*lab.Flow{"forward": &p.Forward, "backward": &p.Backward} {
			all = append(all, monitor.SwitchPort{
				Switch: fmt.Sprintf("s%d", p.Path), Port: direction, Packets: f.Packets, Bytes: f.Bytes, Marked: f.Marked, Dropped: f.Lost + f.Dropped,
			})
		}
	}
	return all, nil
}
