package full

import (
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/braid-rdma/braid/cm"
	"github.com/braid-rdma/braid/cmd/braid/internal/cli"
	"github.com/braid-rdma/braid/internal/otlp"
	"github.com/braid-rdma/braid/lab/trials"
	"github.com/braid-rdma/braid/monitor"
	"github.com/braid-rdma/braid/udp"
)

// agentFlags are those of `braid agent`.
type agentFlags struct {
	monitorFlags
	name, rack, local, state string
	lab                      string
	port, paths              int
	readOnly                 bool
	collector                string
}

// newAgent is `braid agent`.
func newAgent() *cobra.Command {
	var f agentFlags
	cmd := &cobra.Command{
		Use:   "agent",
		Short: "Probe other machines as the monitor says, and report",
		Long: `agent runs on each machine: it probes others as the monitor says, replies to their
probes, reports what it sees and what programs of its user that use braid do, and lets who has a token of
the monitor ask them (braid why HOST, braid stat HOST). Without the monitor it goes on with the last pinglist, and
keeps what it sees for an hour, which the monitor gets when it is back.`,
		Example: `  braid agent --monitor 10.0.0.1:7480 --join-file join-agent --rack r17
  braid agent --nats tls://nats1.example:4222 --nats-creds agent.creds --rack r17
  BRAID_JOIN=braid1.agent... braid agent --name db3 --local 10.0.7.3
  braid agent --monitor 10.0.0.1:7480 --join-file join-agent --otlp http://127.0.0.1:4318`,
		Args: cli.Arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	f.Register(cmd)
	flags.StringVar(&f.name, "name", "", "name of this machine (default: its host name)")
	flags.StringVar(&f.rack, "rack", "", "rack of this machine: hosts of one are probed more often")
	flags.StringVar(&f.local, "local", "", "address to probe from (default: the one that leads to the monitor)")
	flags.StringVar(&f.state, "state", "", "file for the last pinglist (default: in the state directory of the user)")
	flags.IntVarP(&f.port, "port", "p", cli.DefaultPingPort, "port at which it replies; 0 takes a free one")
	flags.IntVar(&f.paths, "paths", 128, "source ports that it probes from")
	flags.StringVar(&f.lab, "lab", "", "report what the switches of this lab count (see braid lab)")
	flags.BoolVar(&f.readOnly, "read-only", false, "let operators elsewhere look at the programs of this machine, but not change them")
	flags.StringVar(&f.collector, "otlp", "", "OpenTelemetry collector that gets the traces of programs as spans, by OTLP over HTTP as JSON, such as\nhttp://127.0.0.1:4318; headers for it are taken from OTEL_EXPORTER_OTLP_HEADERS")
	return cmd
}

func (f *agentFlags) run(cmd *cobra.Command) error {
	join, err := f.token(monitor.RoleAgent)
	if err != nil {
		return err
	}
	if f.URL == "" {
		if err := monitor.RoleAgent.Check(join); err != nil {
			return cli.Usage(err)
		}
	}
	if f.port < 0 || f.port > 65535 || f.paths < 1 {
		return cli.Usage(fmt.Errorf("--port %d, --paths %d: want a port, and one path at least", f.port, f.paths))
	}
	headers := os.Getenv("OTEL_EXPORTER_OTLP_HEADERS")
	if f.collector != "" {
		if _, err := otlp.New(f.collector, "", headers); err != nil {
			return cli.Usage(fmt.Errorf("--otlp: %w", err))
		}
	}
	if f.name == "" {
		if f.name, err = os.Hostname(); err != nil {
			return err
		}
	}
	if f.state == "" {
		f.state = filepath.Join(stateDir("agent"), f.name+".json")
	}
	local, err := f.localAddress()
	if err != nil {
		return err
	}
	d, err := udp.Open(udp.Config{Addr: local, Paths: f.paths, Spin: cli.NoSpin})
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
		Host: monitor.Host{Name: f.name, Addr: local.String(), Rack: f.rack}, Manager: manager, Port: uint16(f.port), Monitor: f.Address, Join: join, External: f.external(),
		State: f.state, ReadOnly: f.readOnly, Collector: f.collector, CollectorHeaders: headers, Log: slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil)), SourcePort: func(path int) uint16 { return udp.SourcePortOf(d, path) },
	}
	if f.lab != "" {
		cfg.Switches = func() ([]monitor.SwitchPort, error) { return trials.SwitchPorts(f.lab) }
	}
	a, err := monitor.NewAgent(cfg)
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "agent of %s at %v\n", f.name, local)
	if err := a.Run(cmd.Context()); cmd.Context().Err() == nil {
		return err
	}
	return nil // there is no other end
}

// localAddress is where this machine is probed: the one given, or the one that leads to the monitor.
func (f *agentFlags) localAddress() (netip.Addr, error) {
	if f.local != "" {
		addr, err := netip.ParseAddr(f.local)
		if err != nil {
			return addr, cli.Usage(fmt.Errorf("--local %q is no IP address", f.local))
		}
		return addr, nil
	}
	// Nothing is sent: the kernel only looks for the way.
	address := f.Address
	if f.URL != "" {
		var err error
		external := f.external()
		if address, err = external.Host(); err != nil {
			return netip.Addr{}, err
		}
	}
	c, err := net.Dial("udp", address)
	if err != nil {
		return netip.Addr{}, err
	}
	defer c.Close()
	return netip.MustParseAddrPort(c.LocalAddr().String()).Addr(), nil
}
