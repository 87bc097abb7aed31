package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/braid-rdma/braid/cm"
	"github.com/braid-rdma/braid/cmd/braid/internal/cli"
	"github.com/braid-rdma/braid/internal/child"
	"github.com/braid-rdma/braid/internal/ping"
	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/udp"
	"github.com/braid-rdma/braid/verbs"
)

const (
	// shortestPing keeps a ping from being a flood.
	shortestPing = 10 * time.Millisecond
	// longestTimeout bounds the probes that wait for a reply.
	longestTimeout = 30 * time.Second
	// connectTime bounds the search for a responder.
	connectTime = 3 * time.Second
)

// errNoReply makes a ping that nobody replied to a failure.
var errNoReply = errors.New("no reply")

// pingFlags are those of `braid ping`.
type pingFlags struct {
	by, sizes            string
	paths                int
	chosen               []int // --path
	interval, timeout    pingTime
	port                 int
	local                string
	loopback             bool
	trace, quiet, asJSON bool
	mesh                 bool // what agents see instead
	monitor              cli.MonitorFlags
	schedule             ping.Schedule
}

// newPing is `braid ping`.
func newPing(more *More) *cobra.Command {
	f := &pingFlags{interval: pingTime(time.Second), timeout: pingTime(time.Second)}
	cmd := &cobra.Command{
		Use:   "ping HOST ...",
		Short: "Ask hosts for replies by RDMA, on each path",
		Long: `ping sends RDMA probes to hosts where 'braid ping serve' runs, and tells which
paths lose them and where their time goes. Probes take turns over the paths, of
which each has a UDP source port, and over the sizes. Three kinds take the ways
that programs' data takes:

  ud  datagrams, whose replies come back on the same path, with six times of
      which the part of the network, of this host and of the other follow
  rc  WRITEs on standard connections, one for each path
  mp  WRITEs on a multi-path connection, which chooses its paths itself

It goes on until -c probes have been sent to each host, or until it is
interrupted; then it prints a summary by path. It fails if a host sent no reply.

--mesh sends nothing: it shows what the agents of a monitor see of each other, as a
matrix.`,
		Example: `  braid ping serve                     on host A
  braid ping A
  braid ping A B C -i 0.1 -c 100 --quiet
  braid ping A --by all --paths 16 -s 64,4K,64K
  braid ping A --path 3 --trace        one path, and its UDP source ports
  braid ping A -c 10 --json
  braid ping --loopback -c 8           both ends on this machine
  braid ping --mesh --join-file join-reader  what all agents see`,
		Args:              cli.Arguments(cobra.ArbitraryArgs),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, hosts []string) error {
			if f.mesh {
				return more.Mesh(cmd, &f.monitor, f.asJSON)
			}
			if err := f.finish(cmd, hosts); err != nil {
				return err
			}
			if f.loopback {
				return f.runLoopback(cmd)
			}
			return f.run(cmd, hosts)
		},
	}
	f.register(cmd)
	cmd.AddCommand(newPingServe())
	return cmd
}

func (f *pingFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.Uint64VarP(&f.schedule.Count, "count", "c", 0, "probes to send to each host (default: until interrupted)")
	flags.VarP(&f.interval, "interval", "i", "time between probes to a host, at least 10ms; a number is in seconds")
	flags.VarP(&f.timeout, "timeout", "W", "time after which a probe is lost")
	flags.StringVarP(&f.sizes, "size", "s", "64,1K,4K", "bytes of the probes, which take turns; datagrams are cut to the path MTU")
	flags.StringVar(&f.by, "by", "ud", "kinds of probe, which take turns: ud, rc, mp, or all")
	flags.IntVar(&f.paths, "paths", 8, "paths to take turns over")
	flags.IntSliceVar(&f.chosen, "path", nil, "paths by number, from 0, instead of the first --paths")
	flags.IntVarP(&f.port, "port", "p", cli.DefaultPingPort, "port of 'braid ping serve'")
	flags.StringVar(&f.local, "local", "", "local IP address (default: the one that leads to the host)")
	flags.BoolVar(&f.loopback, "loopback", false, "start both ends, as two processes on this machine")
	flags.BoolVar(&f.trace, "trace", false, "show by which UDP source port each path goes, and comes back")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "print the summary only")
	flags.BoolVar(&f.asJSON, "json", false, "print the summary as one JSON object, and nothing else")
	flags.BoolVar(&f.mesh, "mesh", false, "show what the agents of a monitor see of each other")
	f.monitor.Register(cmd)
	cli.Complete(cmd, "by", []string{"ud", "rc", "mp", "all"})
}

// pingTime is a flag's time: as Go writes it, or a number of seconds as ping has it.
type pingTime time.Duration

// String is the time as it is written.
func (t *pingTime) String() string { return time.Duration(*t).String() }

// Type is what the help calls it.
func (t *pingTime) Type() string { return "duration" }

// Set reads the time.
func (t *pingTime) Set(text string) error {
	if s, err := strconv.ParseFloat(text, 64); err == nil {
		if !(s >= 0 && s <= longestDuration) { // nor is it no number

			return fmt.Errorf("use up to %d seconds", longestDuration)
		}
		*t = pingTime(seconds(s))
		return nil
	}
	d, err := time.ParseDuration(text)
	*t = pingTime(d)
	return err
}

// finish turns the flags into a schedule and refuses what makes no sense.
func (f *pingFlags) finish(cmd *cobra.Command, hosts []string) (err error) {
	f.schedule.Interval, f.schedule.Timeout = time.Duration(f.interval), time.Duration(f.timeout)
	switch changed := cmd.Flags().Changed; {
	case len(hosts) == 0 && !f.loopback:
		return cli.Usage(errors.New("which host? name at least one, or use --loopback"))
	case f.loopback && len(hosts) > 0:
		return cli.Usage(fmt.Errorf("--loopback starts its own responder: leave out HOST %q", hosts[0]))
	case f.loopback && (changed("local") || changed("port")):
		return cli.Usage(errors.New("--loopback chooses its own addresses: leave out --local and --port"))
	case changed("count") && f.schedule.Count == 0:
		return cli.Usage(errors.New("--count must be above zero"))
	case f.schedule.Interval < shortestPing:
		return cli.Usage(fmt.Errorf("--interval %v: use %v or more, since a ping is not a flood", f.schedule.Interval, shortestPing))
	case f.schedule.Timeout <= 0 || f.schedule.Timeout > longestTimeout:
		return cli.Usage(fmt.Errorf("--timeout %v: use up to %v", f.schedule.Timeout, longestTimeout))
	case changed("path") && changed("paths"):
		return cli.Usage(errors.New("--path and --paths exclude each other"))
	}
	if f.local != "" {
		if _, err := netip.ParseAddr(f.local); err != nil {
			return cli.Usage(fmt.Errorf("--local %q is no IP address", f.local))
		}
	}
	if err := checkPort(f.port); err != nil {
		return err
	}
	if f.schedule.Sizes, err = parseSizes(f.sizes); err != nil {
		return err
	}
	if f.schedule.By, err = parseKinds(f.by); err != nil {
		return err
	}
	f.schedule.Paths, err = f.pathNumbers()
	return err
}

// pathNumbers are the paths of the flags.
func (f *pingFlags) pathNumbers() ([]int, error) {
	if f.paths < 1 || f.paths > transport.MaxPaths {
		return nil, cli.Usage(fmt.Errorf("--paths %d: use 1 to %d", f.paths, transport.MaxPaths))
	}
	if len(f.chosen) == 0 {
		all := make([]int, f.paths)
		for i := range all {
			all[i] = i
		}
		return all, nil
	}
	for _, path := range f.chosen {
		if path < 0 || path >= transport.MaxPaths {
			return nil, cli.Usage(fmt.Errorf("--path %d: use 0 to %d", path, transport.MaxPaths-1))
		}
	}
	if slices.Contains(f.schedule.By, ping.MP) {
		return nil, cli.Usage(errors.New("a multi-path connection chooses its paths itself: use --path with --by ud or rc"))
	}
	return f.chosen, nil
}

// parseKinds reads the kinds of probe.
func parseKinds(text string) (kinds []ping.By, err error) {
	if text == "all" {
		return ping.Kinds, nil
	}
	for _, word := range strings.Split(text, ",") {
		if !slices.Contains(ping.Kinds, ping.By(word)) {
			return nil, cli.Usage(fmt.Errorf("--by %q: use ud, rc, mp or all", text))
		}
		kinds = append(kinds, ping.By(word))
	}
	return kinds, nil
}

// parseSizes reads sizes such as 64, 4K and 1M.
func parseSizes(text string) (sizes []int, err error) {
	for _, word := range strings.Split(text, ",") {
		var n int
		if err := (&sizeFlag[int]{bytes: &n}).Set(word); err != nil || n < ping.MinSize || n > ping.MaxWrite {
			return nil, cli.Usage(fmt.Errorf("--size %q: use %d to 1M, as in 64,4K,64K", word, ping.MinSize))
		}
		sizes = append(sizes, n)
	}
	return sizes, nil
}

// config is how the device is opened.
func (f *pingFlags) config() udp.Config {
	c := udp.Config{Spin: cli.NoSpin}
	if most := slices.Max(f.schedule.Paths) + 1; most > defaultPathsOfDevice {
		c.Paths = most
	}
	if f.local != "" {
		c.Addr, _ = netip.ParseAddr(f.local) // finish has looked
	}
	return c
}

// defaultPathsOfDevice is how many paths a device has if nothing is said.
const defaultPathsOfDevice = 128

// runLoopback starts the responder as a second process and pings it.
func (f *pingFlags) runLoopback(cmd *cobra.Command) error {
	second, err := child.Start(cmd.Context(), "ping", "serve", "--bind", bindLoopback, "--port", "0", "--with-parent")
	if err != nil {
		return err
	}
	defer second.Close()
	at, err := netip.ParseAddrPort(second.Address())
	if err != nil {
		return err
	}
	f.port = int(at.Port())
	return f.run(cmd, []string{at.Addr().String()})
}

// run pings the hosts and prints what becomes of it.
func (f *pingFlags) run(cmd *cobra.Command, hosts []string) error {
	device, err := udp.Open(f.config())
	if err != nil {
		return err
	}
	defer device.Close()
	manager, err := cm.New(device, cm.Config{})
	if err != nil {
		return err
	}
	defer manager.Close()
	prober, err := ping.NewProber(manager, ping.ProberOptions{SourcePort: sourcePortsOf(device), MPPaths: f.paths})
	if err != nil {
		return err
	}
	defer prober.Close()
	p := &pinger{flags: f, out: cmd.OutOrStdout(), errors: cmd.ErrOrStderr(), prober: prober}
	if len(hosts) == 1 {
		p.errors = io.Discard // its error is the command's own
	}
	if f.asJSON || f.quiet {
		p.out = io.Discard
	}
	all := make([]*pinged, len(hosts))
	var running sync.WaitGroup
	for i, host := range hosts {
		all[i] = &pinged{Host: host}
		schedule := f.schedule
		schedule.Delay = schedule.Interval * time.Duration(i) / time.Duration(len(hosts)) // not all at once
		running.Go(func() { p.ping(cmd.Context(), all[i], &schedule) })
	}
	running.Wait()
	if err := printPinged(cmd.OutOrStdout(), f, prober, all); err != nil {
		return err
	}
	return outcome(all)
}

// sourcePortsOf is what finds the source port of a path.
func sourcePortsOf(d *verbs.Device) func(path int) uint16 {
	return func(path int) uint16 { return udp.SourcePortOf(d, path) }
}

// pinged is a host, and what became of its probes.
type pinged struct {
	Host    string
	addr    netip.Addr
	err     error // it could not be pinged at all
	took    time.Duration
	summary ping.Summary
	mpPaths []verbs.PathStats
}

// outcome is the error of the command.
func outcome(all []*pinged) error {
	if len(all) == 1 && all[0].err != nil {
		return all[0].err
	}
	var silent []string
	for _, h := range all {
		if _, received := h.summary.Total(); received == 0 {
			silent = append(silent, h.Host)
		}
	}
	if len(silent) > 0 {
		return fmt.Errorf("%w from %s", errNoReply, strings.Join(silent, ", "))
	}
	return nil
}

// pinger pings hosts, each in a goroutine.
type pinger struct {
	flags  *pingFlags
	prober *ping.Prober

	mu          sync.Mutex
	out, errors io.Writer
}

func (p *pinger) print(w io.Writer, line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintln(w, line)
}

// ping pings a host until the schedule or the context ends.
func (p *pinger) ping(ctx context.Context, h *pinged, schedule *ping.Schedule) {
	within, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	peer, err := p.prober.Connect(within, h.Host, uint16(p.flags.port))
	if err != nil {
		h.err = explainPing(h.Host, err)
		p.print(p.errors, h.err.Error())
		return
	}
	h.addr = peer.Addr()
	p.print(p.out, "PING "+pingTitle(h, p.flags))
	start := time.Now()
	peer.Run(ctx, schedule, func(r ping.Result) {
		h.summary.Add(&r)
		p.print(p.out, pingLine(h, &r, p.flags.trace))
	})
	h.took = time.Since(start)
	h.mpPaths = peer.PathsOfMP()
}

// explainPing adds to an error what the user can do about it.
func explainPing(host string, err error) error {
	switch {
	case errors.Is(err, ping.ErrNoResponder):
		return fmt.Errorf("%w (is `braid ping serve` running there?)", err)
	case errors.Is(err, udp.ErrPortInUse):
		return fmt.Errorf("ping %s: another program of this machine has the address that leads there and does not share it; choose another with --local: %w", host, err)
	}
	return fmt.Errorf("ping %s: %w", host, err)
}
