package command

import (
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

	"github.com/braid-rdma/braid/cmd/braid/internal/cli"
	"github.com/braid-rdma/braid/operate"
)

// whyFlags are those of `braid why`.
type whyFlags struct {
	programs
	took          time.Duration
	watch, asJSON bool
	all           bool // idle queue pairs too
	peers         []netip.Addr
	parts         map[int]*operate.Selection // of programs by process number, of which not all is asked for
}

// newWhy is `braid why`.
func newWhy(more *More) *cobra.Command {
	var f whyFlags
	cmd := &cobra.Command{
		Use:   "why [PID | PID/CHANNEL | PID/0xQPN | PEER | HOST] ...",
		Short: "Say what limits the transfers of running programs",
		Long: `why looks at programs of this user that use braid for a moment, some hundred times
a second, and says in plain words what limits their transfers: the network or one
path of it, the peer, the program itself, or the machine; with the evidence, and
with what to do.

A program is named by its process number, one of its channels or queue pairs by
that and its own number, and an IP address stands for the transfers with that peer.
Without any, all are looked at. The programs offer a socket for this, which only
their user can open; being looked at costs a transfer at full speed a few percent.

HOST is the name of another machine that has an agent: its programs are looked at
by way of that and of the monitor, which needs the token of a reader. What the
monitor says of the machine, its rack and of paths is told first.

--json prints {"schema", "programs": [{"evidence", "findings": [{"cause",
"queue_pair", "share", "says", "evidence", "advice"}]}], "alarms"}. The causes are words that
stay the same; docs/operate.md has them all.`,
		Example: `  braid why
  braid why 4711 --for 5s
  braid why 4711/3
  braid why 10.0.0.2 --watch
  braid why db3 --monitor 10.0.0.1:7480 --join-file join-reader
  braid why --json | jq -r '.programs[].findings[].cause'`,
		Args:              cli.Arguments(cobra.ArbitraryArgs),
		ValidArgsFunction: completePrograms,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.parse(args); err != nil {
				return err
			}
			defer f.disconnect()
			return f.run(cmd)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.DurationVarP(&f.took, "for", "f", time.Second, "how long to look; up to a minute")
	flags.StringSliceVarP(&f.labels, "label", "l", nil, "only programs with this label, name=value")
	flags.BoolVarP(&f.all, "all", "a", false, "tell of idle queue pairs too")
	flags.BoolVarP(&f.watch, "watch", "w", false, "look again and again, until interrupted")
	flags.BoolVar(&f.asJSON, "json", false, "print JSON objects, and nothing else")
	f.registerHosts(cmd, more)
	return cmd
}

// parse reads what the command is about.
func (f *whyFlags) parse(args []string) error {
	if f.took < 10*time.Millisecond || f.took > time.Minute {
		return cli.Usage(fmt.Errorf("--for %v: want 10ms to 1m", f.took))
	}
	var pids []string
	for _, arg := range args {
		if peer, err := netip.ParseAddr(arg); err == nil {
			f.peers = append(f.peers, peer.Unmap())
			continue
		}
		pid, part, parted := strings.Cut(arg, "/")
		pids = append(pids, pid)
		if !parted {
			continue
		}
		s := &operate.Selection{}
		if err := parsePart(part, s); err != nil {
			return cli.Usage(fmt.Errorf("%q: %w", arg, err))
		}
		f.addPart(pid, s)
	}
	return f.programs.parse(pids)
}

// addPart notes that a part of a program is asked for. What is no process number is refused later.
func (f *whyFlags) addPart(pid string, s *operate.Selection) {
	n, _ := strconv.Atoi(pid)
	if f.parts == nil {
		f.parts = map[int]*operate.Selection{}
	}
	if before := f.parts[n]; before != nil {
		s.QueuePairs, s.Channels = append(before.QueuePairs, s.QueuePairs...), append(before.Channels, s.Channels...)
	}
	f.parts[n] = s
}

// selection is what is asked of a program.
func (f *whyFlags) selection(pid int) operate.Selection {
	s := operate.Selection{Peers: f.peers}
	if part := f.parts[pid]; part != nil {
		s.QueuePairs, s.Channels = part.QueuePairs, part.Channels
	}
	return s
}

// parsePart reads a channel's number, or that of a queue pair in hexadecimal.
func parsePart(part string, s *operate.Selection) error {
	if hex, ok := strings.CutPrefix(part, "0x"); ok {
		n, err := strconv.ParseUint(hex, 16, 24)
		if err != nil {
			return fmt.Errorf("want a queue pair such as 0xcfc5f3")
		}
		s.QueuePairs = append(s.QueuePairs, uint32(n))
		return nil
	}
	n, err := strconv.Atoi(part)
	if err != nil || n < 0 {
		return fmt.Errorf("want a channel such as 3, or a queue pair such as 0xcfc5f3")
	}
	s.Channels = append(s.Channels, n)
	return nil
}

// wantsPair says whether the command is about a queue pair; a program of an earlier version may tell of others.
func wantsPair(s *operate.Selection, q *operate.QueuePair) bool {
	return s.Empty() || slices.Contains(s.QueuePairs, q.Number) || slices.Contains(s.Peers, q.Peer.Unmap()) ||
		q.Channel != nil && slices.Contains(s.Channels, q.Channel.Number)
}

// explained is a program with what limits it.
type explained struct {
	Evidence *operate.Evidence `json:"evidence"`
	Findings []operate.Finding `json:"findings"`
}

// whyReport is what the command prints as JSON.
type whyReport struct {
	Schema   int         `json:"schema"`
	Programs []explained `json:"programs"`
	Alarms   []any       `json:"alarms,omitempty"` // of the monitor, about machines that are asked about, and their racks
}

func (f *whyFlags) run(cmd *cobra.Command) error {
	for {
		all, err := f.look(cmd)
		report := whyReport{Schema: 1, Programs: all}
		var alarms []Alarm
		if err == nil && len(f.hosts) > 0 {
			alarms, err = f.client.Alarms(cmd.Context(), f.hosts)
		}
		if err != nil {
			if f.watch && cmd.Context().Err() != nil {
				return nil // there is no other end
			}
			return err
		}
		if err := f.show(cmd.OutOrStdout(), &report, alarms); err != nil || !f.watch {
			return err
		}
	}
}

// look gathers evidence from all programs at the same time.
func (f *whyFlags) look(cmd *cobra.Command) ([]explained, error) {
	programs, err := f.connect(cmd)
	if err != nil {
		return nil, err
	}
	defer closePrograms(programs)
	evidence, errs := make([]*operate.Evidence, len(programs)), make([]error, len(programs))
	var gathering sync.WaitGroup
	for i, p := range programs {
		gathering.Go(func() { evidence[i], errs[i] = p.GatherOf(cmd.Context(), f.took, f.selection(p.PID)) })
	}
	gathering.Wait()
	var all []explained
	told := map[int]bool{} // processes, which may have several contexts
	for i, e := range evidence {
		if errs[i] != nil {
			continue
		}
		told[programs[i].PID] = true
		of := f.selection(programs[i].PID)
		e.QueuePairs = slices.DeleteFunc(e.QueuePairs, func(q operate.QueuePair) bool { return !wantsPair(&of, &q) })
		all = append(all, explained{e, e.Explain()})
	}
	switch {
	case cmd.Context().Err() != nil:
		return nil, cmd.Context().Err()
	case len(all) == 0:
		return nil, errors.Join(errs...)
	}
	for i, err := range errs {
		if pid := programs[i].PID; err != nil && (!told[pid] || f.parts[pid] == nil) {
			fmt.Fprintln(cmd.ErrOrStderr(), err) // others have more to tell
		}
	}
	return all, nil
}

func (f *whyFlags) show(w io.Writer, report *whyReport, alarms []Alarm) error {
	if f.asJSON {
		for _, a := range alarms {
			report.Alarms = append(report.Alarms, a.Whole)
		}
		return cli.PrintJSON(w, report)
	}
	var b strings.Builder
	if f.watch && cli.IsTerminal(w) {
		b.WriteString("\x1b[H\x1b[2J")
	}
	for _, a := range alarms {
		fmt.Fprintln(&b, "the monitor: "+a.Line)
	}
	for i := range report.Programs {
		f.print(&b, &report.Programs[i])
	}
	if f.watch && !cli.IsTerminal(w) {
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// print tells of one program. Queue pairs that are idle are only counted.
func (f *whyFlags) print(w io.Writer, x *explained) {
	e := x.Evidence
	fmt.Fprintf(w, "%s: %d queue pairs, looked at %d times in %v\n", programTitle(&e.Program), len(e.QueuePairs), e.Samples, e.Took.Round(time.Millisecond))
	idle := 0
	var last uint32
	for i := range x.Findings {
		found := &x.Findings[i]
		if found.Cause == operate.CauseIdle && found.Share > 0.95 && !f.all {
			idle++
			continue
		}
		if found.QueuePair != 0 && found.QueuePair != last {
			fmt.Fprintln(w, "  "+pairTitle(e, found.QueuePair))
			last = found.QueuePair
		}
		printFinding(w, found)
	}
	if idle > 0 {
		fmt.Fprintf(w, "  %d queue pairs have nothing to do (--all shows them)\n", idle)
	}
	if e.Left > 0 {
		fmt.Fprintf(w, "  %d more do something and were not looked at\n", e.Left)
	}
}

// programTitle names a program, and its machine if that is another.
func programTitle(i *operate.Identity) string {
	title := fmt.Sprintf("%s %d", i.Program, i.PID)
	if i.Host != "" {
		title = i.Host + ": " + title
	}
	return title
}

// pairTitle names a queue pair and its channel.
func pairTitle(e *operate.Evidence, number uint32) string {
	i := slices.IndexFunc(e.QueuePairs, func(q operate.QueuePair) bool { return q.Number == number })
	q := &e.QueuePairs[i]
	title := fmt.Sprintf("%s queue pair %#06x with %v", q.Type, q.Number, q.Peer)
	if q.Channel != nil {
		title = fmt.Sprintf("channel %d with %s (%s queue pair %#06x)", q.Channel.Number, q.Channel.Peer, q.Type, q.Number)
	}
	return title
}

func printFinding(w io.Writer, f *operate.Finding) {
	fmt.Fprintf(w, "    %s [%s]\n", f.Says, f.Cause)
	for _, line := range f.Evidence {
		fmt.Fprintln(w, "      - "+line)
	}
	if f.Advice != "" {
		fmt.Fprintln(w, "      > "+f.Advice)
	}
}
