package command

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	middleware "github.com/braid-rdma/braid"
	"github.com/braid-rdma/braid/cmd/braid/internal/cli"
)

// statFlags are those of `braid stat`.
type statFlags struct {
	interval      time.Duration
	watch, asJSON bool
	devices       bool // and their queue pairs, instead of contexts and channels
	paths         bool
	programs
}

// newStat is `braid stat`.
func newStat(more *More) *cobra.Command {
	var f statFlags
	cmd := &cobra.Command{
		Use:   "stat [PID | HOST] ...",
		Short: "Show the contexts and channels of running programs",
		Long: `stat shows what programs of this user that use package braid do: their contexts
and channels, with rates over an interval. The programs publish it by themselves,
unless no_stats is configured, and are not disturbed.

--qp shows devices and queue pairs instead, also those of programs that use package
verbs alone and offer a socket, and --paths what each path has carried; the counters
in --json have the names that RDMA tools give them.

HOST is the name of another machine that has an agent: the devices and queue pairs of
its programs are shown, by way of that and of the monitor, which needs the token of a
reader.`,
		Example: `  braid stat
  braid stat --qp --paths
  braid stat --watch
  braid stat 4711 --interval 5s
  braid stat --interval 0 --json
  braid stat db3 --monitor 10.0.0.1:7480 --join-file join-reader`,
		Args:              cli.Arguments(cobra.ArbitraryArgs),
		ValidArgsFunction: completePIDs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.parse(args); err != nil {
				return err
			}
			defer f.disconnect()
			if f.devices || f.paths || len(f.hosts) > 0 {
				return f.runDevices(cmd)
			}
			return f.run(cmd)
		},
	}
	flags := cmd.Flags()
	flags.BoolVarP(&f.devices, "qp", "q", false, "show devices and queue pairs instead of contexts and channels")
	flags.BoolVarP(&f.paths, "paths", "p", false, "and what each path of a queue pair has carried")
	flags.DurationVarP(&f.interval, "interval", "i", time.Second, "time over which rates are; 0: since each channel or program was opened")
	flags.BoolVarP(&f.watch, "watch", "w", false, "show it again after each interval, until interrupted")
	flags.BoolVar(&f.asJSON, "json", false, "print JSON objects, and nothing else")
	f.registerHosts(cmd, more)
	return cmd
}

func (f *statFlags) parse(args []string) error {
	if err := f.programs.parse(args); err != nil {
		return err
	}
	switch {
	case f.interval < 0:
		return cli.Usage(fmt.Errorf("--interval %v: must not be negative", f.interval))
	case f.watch && f.interval < 10*time.Millisecond:
		return cli.Usage(fmt.Errorf("--interval %v: use 10ms or more with --watch", f.interval))
	}
	return nil
}

// completePIDs offers the processes that publish something.
func completePIDs(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var pids []string
	for c, err := range middleware.Published() {
		if err == nil && c.Alive && !slices.Contains(args, strconv.Itoa(c.PID)) {
			pids = append(pids, strconv.Itoa(c.PID)+"\t"+c.Program)
		}
	}
	slices.Sort(pids) // a process may have several contexts
	return slices.Compact(pids), cobra.ShellCompDirectiveNoFileComp
}

// statLook is what is published at one moment, by the path of the file.
type statLook map[string]*middleware.PublishedContext

// look reads what the processes publish. What cannot be read is told, once.
func (f *statFlags) look(complain func(error)) statLook {
	all := statLook{}
	for c, err := range middleware.Published() {
		switch {
		case err != nil:
			complain(err)
		case len(f.pids) == 0 || slices.Contains(f.pids, c.PID):
			all[c.Path] = c
		}
	}
	return all
}

// inOrder are the contexts by process and number.
func (l statLook) inOrder() []*middleware.PublishedContext {
	var all []*middleware.PublishedContext
	for _, c := range l {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b *middleware.PublishedContext) int {
		if a.PID != b.PID {
			return a.PID - b.PID
		}
		return a.Number - b.Number
	})
	return all
}

func (f *statFlags) run(cmd *cobra.Command) error {
	complained := map[string]bool{}
	complain := func(err error) {
		if !complained[err.Error()] {
			complained[err.Error()] = true
			fmt.Fprintln(cmd.ErrOrStderr(), err)
		}
	}
	earlier := statLook{}
	if f.interval > 0 {
		earlier = f.look(complain)
	}
	for {
		if f.interval > 0 && !cli.Pause(cmd.Context(), f.interval) {
			return statEnd(cmd.Context(), f.watch)
		}
		now := f.look(complain)
		if err := f.show(cmd.OutOrStdout(), now, earlier); err != nil {
			return err
		}
		if !f.watch {
			return nil
		}
		earlier = now
	}
}

// statEnd is how an interrupted command ends: one that watches is ended in no other way.
func statEnd(ctx context.Context, watch bool) error {
	if watch {
		return nil
	}
	return ctx.Err()
}

func (f *statFlags) show(w io.Writer, now, earlier statLook) error {
	if f.asJSON {
		return cli.PrintJSON(w, statReport(now, earlier))
	}
	var b strings.Builder
	if f.watch && cli.IsTerminal(w) {
		b.WriteString("\x1b[H\x1b[2J")
	}
	printStat(&b, now, earlier)
	if f.watch && !cli.IsTerminal(w) {
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}
