package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/braid-rdma/braid/cmd/braid/internal/cli"
	"github.com/braid-rdma/braid/operate"
)

// errNoProgram is said where nobody offers a socket.
var errNoProgram = errors.New("no program of this user that uses braid runs there (or it was told to offer no socket)")

// programs are what an operator's command is for.
type programs struct {
	pids    []int
	labels  []string // each as name=value; a program must have all
	hosts   []string // whose programs, by way of their agents; none: this machine's
	monitor cli.MonitorFlags
	more    *More
	client  Monitor // nil: it was not needed yet
}

// EveryHost stands for all that report.
const EveryHost = "*"

// registerHosts adds the flags by which programs of other machines are found.
func (p *programs) registerHosts(cmd *cobra.Command, more *More) {
	p.more = more
	cmd.Flags().StringSliceVar(&p.hosts, "host", nil, "programs of this machine, by way of its agent and the monitor; '*': of all")
	p.monitor.Register(cmd)
}

// parse reads process numbers, and names of machines, which are no numbers.
func (p *programs) parse(args []string) error {
	for _, arg := range args {
		pid, err := strconv.Atoi(arg)
		switch {
		case err == nil && pid > 0:
			p.pids = append(p.pids, pid)
		case err == nil || strings.Trim(arg, "0123456789-+.") == "":
			return cli.Usage(fmt.Errorf("%q is no process number", arg))
		default:
			p.hosts = append(p.hosts, arg)
		}
	}
	for _, label := range p.labels {
		if name, value, ok := strings.Cut(label, "="); !ok || name == "" || value == "" {
			return cli.Usage(fmt.Errorf("--label %q: want name=value", label))
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

// connect connects to the programs, in the order of their machines and numbers. Those that cannot be reached are told.
func (p *programs) connect(cmd *cobra.Command) ([]*operate.Program, error) {
	source := operate.Programs(cmd.Context())
	if len(p.hosts) > 0 {
		var err error
		if source, err = p.elsewhere(cmd); err != nil {
			return nil, err
		}
	}
	var all []*operate.Program
	unreached := 0
	for program, err := range source {
		switch {
		case err != nil:
			unreached++
			fmt.Fprintln(cmd.ErrOrStderr(), err)
		case p.wants(&program.Identity):
			all = append(all, program)
		default:
			program.Close()
		}
	}
	switch {
	case len(all) > 0:
	case len(p.pids)+len(p.labels) > 0:
		return nil, fmt.Errorf("no such program: %w", errNoProgram)
	case len(p.hosts) > 0 && unreached > 0:
		return nil, errors.New("no machine was reached")
	default:
		return nil, errNoProgram
	}
	slices.SortFunc(all, func(a, b *operate.Program) int {
		return cmp.Or(strings.Compare(a.Host, b.Host), a.PID-b.PID, a.Number-b.Number)
	})
	return all, nil
}

// elsewhere are the programs of other machines. All are asked at the same time, so that one that is away does not hold up the others.
func (p *programs) elsewhere(cmd *cobra.Command) (_ iter.Seq2[*operate.Program, error], err error) {
	if p.client == nil {
		if p.client, err = p.more.Connect(cmd, &p.monitor); err != nil {
			return nil, err
		}
	}
	hosts := p.hosts
	if slices.Contains(hosts, EveryHost) {
		if hosts, err = p.client.Hosts(cmd.Context()); err != nil {
			return nil, err
		}
	}
	programs, errs := make([][]*operate.Program, len(hosts)), make([]error, len(hosts))
	ctx, cancel := context.WithTimeout(cmd.Context(), 10*time.Second)
	defer cancel()
	var asking sync.WaitGroup
	for i, host := range hosts {
		asking.Go(func() { programs[i], errs[i] = p.client.Programs(ctx, host) })
	}
	asking.Wait()
	return func(yield func(*operate.Program, error) bool) {
		for i := range hosts {
			if errs[i] != nil && !yield(nil, errs[i]) {
				return
			}
			for _, program := range programs[i] {
				if !yield(program, nil) {
					return
				}
			}
		}
	}, nil
}

// disconnect ends the connection to the monitor, if there is one.
func (p *programs) disconnect() {
	if p.client != nil {
		p.client.Close()
		p.client = nil
	}
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
