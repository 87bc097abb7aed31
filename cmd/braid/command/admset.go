package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/braid-rdma/braid/cmd/braid/internal/cli"
	"github.com/braid-rdma/braid/operate"
)

// admSetFlags are those of `braid adm set`.
type admSetFlags struct {
	admFlags
	all, dryRun bool
	canary      int
	watched     time.Duration
	values      map[string]string
}

func newAdmSet(more *More) *cobra.Command {
	var f admSetFlags
	cmd := &cobra.Command{
		Use:   "set NAME=VALUE ... [PID | HOST] ...",
		Short: "Change parameters, in all programs named or in none",
		Long: `set changes parameters of running programs: those with the process numbers given,
those with a --label, or --all. Every program checks the change first; if one refuses
it, none is changed. If one fails to obey all the same, those that did are rolled back.

--canary N changes N programs first and looks at them for the time of --watch-for: if
one of them ends, or a queue pair of it fails or is cut off, they are rolled back and
the others are left alone.`,
		Example: `  braid adm set keepalive=5s --all
  braid adm set trace=req-rsp trace_sample_mask=1023 4711
  braid adm set mock=tcp 4711
  braid adm set log=info --label role=db
  braid adm set memory=256MiB --label role=db --canary 1 --watch-for 30s
  braid adm set window=128 --all --dry-run`,
		Args: cli.Arguments(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			rest, err := f.parseValues(args)
			if err != nil {
				return err
			}
			return f.run(cmd, rest)
		},
	}
	f.register(cmd, more)
	flags := cmd.Flags()
	flags.BoolVar(&f.all, "all", false, "all programs of this user")
	flags.BoolVar(&f.dryRun, "dry-run", false, "only check whether the programs would take it")
	flags.IntVar(&f.canary, "canary", 0, "how many programs to change first; 0: all at once")
	flags.DurationVar(&f.watched, "watch-for", 10*time.Second, "how long to look at those; up to a minute")
	return cmd
}

// parseValues takes the assignments out of the arguments.
func (f *admSetFlags) parseValues(args []string) (rest []string, err error) {
	f.values = map[string]string{}
	for _, arg := range args {
		name, value, ok := strings.Cut(arg, "=")
		if !ok {
			rest = append(rest, arg)
			continue
		}
		if _, twice := f.values[name]; twice {
			return nil, cli.Usage(fmt.Errorf("%s has two values", name))
		}
		f.values[name] = value
	}
	switch {
	case len(f.values) == 0:
		return nil, cli.Usage(errors.New("want NAME=VALUE, such as keepalive=5s"))
	case !f.all && len(rest)+len(f.labels)+len(f.hosts) == 0:
		return nil, cli.Usage(errors.New("which programs: give process numbers, --label, --host or --all"))
	case f.canary < 0 || f.watched <= 0 || f.watched > time.Minute:
		return nil, cli.Usage(errors.New("--canary must not be negative, and --watch-for more than 0 and at most 1m"))
	}
	return rest, nil
}

func (f *admSetFlags) run(cmd *cobra.Command, pids []string) error {
	if err := f.parse(pids); err != nil {
		return err
	}
	defer f.disconnect()
	programs, err := f.connect(cmd)
	if err != nil {
		return err
	}
	defer closePrograms(programs)
	ctx := cmd.Context()
	changes, err := f.setEach(ctx, programs, true)
	if err == nil && !f.dryRun {
		changes, err = f.apply(cmd, programs)
	}
	if err != nil {
		return err
	}
	if f.asJSON {
		return cli.PrintJSON(cmd.OutOrStdout(), admReport[*operate.Change]{1, changes})
	}
	if f.dryRun {
		fmt.Fprintf(cmd.OutOrStdout(), "%d programs would take it\n", len(programs))
		return nil
	}
	printChanges(cmd.OutOrStdout(), changes)
	return nil
}

// apply changes the canaries and, when they are well, the rest.
func (f *admSetFlags) apply(cmd *cobra.Command, programs []*operate.Program) ([]ofProgram[*operate.Change], error) {
	ctx := cmd.Context()
	first := programs[:min(f.canary, len(programs))]
	var changes []ofProgram[*operate.Change]
	if len(first) > 0 {
		before, err := f.ailing(ctx, first, time.Second)
		if err == nil {
			changes, err = f.setOrUndo(ctx, first)
		}
		if err != nil {
			return nil, err
		}
		if err := f.watch(ctx, cmd.ErrOrStderr(), first, before); err != nil {
			return nil, errors.Join(err, undo(ctx, first, changes))
		}
	}
	rest, err := f.setOrUndo(ctx, programs[len(first):])
	if err != nil {
		return nil, errors.Join(err, undo(ctx, first, changes))
	}
	return append(changes, rest...), nil
}

// setEach sets the values in programs, one after the other, and stops at the first that refuses, or when the command is interrupted.
func (f *admSetFlags) setEach(ctx context.Context, programs []*operate.Program, dryRun bool) (changes []ofProgram[*operate.Change], err error) {
	setting := ctx
	if !dryRun {
		setting = context.WithoutCancel(ctx) // a program that was asked obeys, and only who waits for its response can undo that
	}
	for _, p := range programs {
		var c *operate.Change
		if err = ctx.Err(); err == nil {
			c, err = p.Set(setting, f.values, operator(), dryRun)
		}
		switch {
		case errors.Is(err, operate.ErrSilent) && !dryRun:
			return changes, fmt.Errorf("%w: it may be changed, no other is", err)
		case err != nil:
			return changes, fmt.Errorf("nothing is changed: %w", err)
		}
		changes = append(changes, ofProgram[*operate.Change]{p.Identity, c})
	}
	return changes, nil
}

// setOrUndo sets the values in all programs or in none.
func (f *admSetFlags) setOrUndo(ctx context.Context, programs []*operate.Program) ([]ofProgram[*operate.Change], error) {
	changes, err := f.setEach(ctx, programs, false)
	if err != nil {
		return nil, errors.Join(err, undo(ctx, programs, changes))
	}
	return changes, nil
}

// undo rolls back what was changed in the first of some programs, also where the command is interrupted, and nothing that others have changed there since.
func undo(ctx context.Context, programs []*operate.Program, changes []ofProgram[*operate.Change]) error {
	ctx = context.WithoutCancel(ctx)
	var wrong []error
	for i, c := range changes { // each has its own time: some wait for their channels to move
		if _, err := programs[i].RollBack(ctx, c.Result.Number, operator()); err != nil {
			wrong = append(wrong, fmt.Errorf("roll back: %w", err))
		}
	}
	return errors.Join(wrong...)
}

// watch looks at programs for a while and fails if one is worse than before.
func (f *admSetFlags) watch(ctx context.Context, w io.Writer, programs []*operate.Program, before []string) error {
	fmt.Fprintf(w, "looking at %d programs for %v\n", len(programs), f.watched)
	after, err := f.ailing(ctx, programs, f.watched)
	if err != nil {
		return fmt.Errorf("a program that was changed first does not respond: %w", err)
	}
	for _, a := range after {
		if !slices.Contains(before, a) {
			return fmt.Errorf("after the change %s; the others are left as they were", a)
		}
	}
	return nil
}

// ailing lists what is wrong with programs: queue pairs that have failed, or are cut off; or moved to TCP, where they are not told to.
func (f *admSetFlags) ailing(ctx context.Context, programs []*operate.Program, took time.Duration) (all []string, err error) {
	for _, p := range programs {
		e, err := p.Gather(ctx, took)
		if err != nil {
			return nil, err
		}
		for _, found := range e.Explain() {
			switch found.Cause {
			case operate.CauseOnTCP:
				if f.values["mock"] == "tcp" {
					continue
				}
				fallthrough
			case operate.CauseClosed, operate.CauseUnreachable:
				all = append(all, fmt.Sprintf("queue pair %#06x of %v is ill: %s", found.QueuePair, &p.Identity, found.Says))
			}
		}
	}
	return all, nil
}
