package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/braid-rdma/braid/operate"
)

// errNoProgram is said where nobody offers a socket.
var errNoProgram = errors.New("no program of this user that uses braid runs here (or it was told to offer no socket)")

// programs are what an operator's command is for.
type programs struct {
	pids   []int
	labels []string // each as name=value; a program must have all
}

// parsePrograms reads process numbers.
func (p *programs) parse(args []string) error {
	for _, arg := range args {
		pid, err := strconv.Atoi(arg)
		if err != nil || pid < 1 {
			return usageError{fmt.Errorf("%q is no process number", arg)}
		}
		p.pids = append(p.pids, pid)
	}
	for _, label := range p.labels {
		if name, value, ok := strings.Cut(label, "="); !ok || name == "" || value == "" {
			return usageError{fmt.Errorf("--label %q: want name=value", label)}
		}
	}
	return nil
}

func (p *programs) wants(i *operate.Identity) bool {
	if len(p.pids) > 0 && !slices.Contains(p.pids, i.PID) {
		return false
	}
	has := strings.Split(i.Labels, ",")
	for _, label := range p.labels {
		if !slices.Contains(has, label) {
			return false
		}
	}
	return true
}

// connect connects to the programs, in the order of their numbers. Those that cannot be reached are told.
func (p *programs) connect(cmd *cobra.Command) ([]*operate.Program, error) {
	var all []*operate.Program
	for program, err := range operate.Programs(cmd.Context()) {
		switch {
		case err != nil:
			fmt.Fprintln(cmd.ErrOrStderr(), err)
		case p.wants(&program.Identity):
			all = append(all, program)
		default:
			program.Close()
		}
	}
	if len(all) == 0 {
		if len(p.pids)+len(p.labels) > 0 {
			return nil, fmt.Errorf("no such program: %w", errNoProgram)
		}
		return nil, errNoProgram
	}
	slices.SortFunc(all, func(a, b *operate.Program) int {
		if a.PID != b.PID {
			return a.PID - b.PID
		}
		return a.Number - b.Number
	})
	return all, nil
}

func closePrograms(all []*operate.Program) {
	for _, p := range all {
		p.Close()
	}
}

// completePrograms offers the programs that run.
func completePrograms(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	ctx := cmd.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	var pids []string
	for p, err := range operate.Programs(ctx) {
		if err != nil {
			continue
		}
		if pid := strconv.Itoa(p.PID); !slices.Contains(args, pid) {
			pids = append(pids, pid+"\t"+p.Program)
		}
		p.Close()
	}
	slices.Sort(pids) // a process may offer several
	return slices.Compact(pids), cobra.ShellCompDirectiveNoFileComp
}
