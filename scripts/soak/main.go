// Command soak runs a great many seeds of each kind that the checks run few of:
// the fault harness of package transport and its hostile peers, the conversations of the connection
// manager, the broken queue pairs of a bundle, the programs at the ends of a channel, their carriers, and the random networks of the simulator.
//
//	flags ──> each kind is built once ──> chunks of seeds, a process each, one per core
//	      ──> progress, failures as they come ──> a line per kind at the end
//
// It goes on after a failure. An interrupt ends it, with a summary of what was
// covered until then.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
)

// A kind is one sort of seeds.
type kind struct {
	name  string
	build []string // arguments of the go command, before the output's name
	pkg   string
	chunk uint64 // seeds of one process: some seconds of work
	// command runs a range of seeds with what was built.
	command func(program string, first, count uint64) *exec.Cmd
}

var kinds = []kind{
	{"transport", []string{"test", "-c"}, "./transport", 1000, testCommand("^TestSeeds$")},
	{"hostile", []string{"test", "-c"}, "./transport", 400, testCommand("^TestHostile$")},
	{"cm", []string{"test", "-c"}, "./cm/machine", 4000, testCommand("^TestSeeds")},
	{"bundle", []string{"test", "-c"}, "./bundle/machine", 4000, testCommand("^TestSeeds$")},
	{"session", []string{"test", "-c"}, "./internal/session", 1000, testCommand("^TestSeeds$")},
	{"mock", []string{"test", "-c"}, "./internal/mock", 1000, testCommand("^TestSeeds$")},
	{"sim", []string{"build"}, "./cmd/braid-full", 200, func(program string, first, count uint64) *exec.Cmd {
		cmd := exec.Command(program, "sim", "fuzz", "--workers", "1",
			"--first", strconv.FormatUint(first, 10), "--seeds", strconv.FormatUint(count, 10))
		// A network is large for a moment: its memory is better kept than given back.
		cmd.Env = append(os.Environ(), "GOGC=off", "GOMEMLIMIT=512MiB")
		return cmd
	}},
}

// testCommand runs tests that take their seeds from the environment. What a seed makes is small and soon garbage: with
// the usual GOGC most of the time would go into collecting it.
func testCommand(tests string) func(string, uint64, uint64) *exec.Cmd {
	return func(program string, first, count uint64) *exec.Cmd {
		cmd := exec.Command(program, "-test.run", tests, "-test.timeout", "0")
		cmd.Env = append(os.Environ(), fmt.Sprintf("BRAID_SEED_BASE=%d", first), fmt.Sprintf("BRAID_SEEDS=%d", count), "GOGC=2000")
		return cmd
	}
}

func main() {
	seeds := flag.Uint64("seeds", 1_000_000, "seeds of each kind")
	base := flag.Uint64("base", 1, "the first of them")
	jobs := flag.Int("jobs", runtime.NumCPU(), "processes at a time")
	only := flag.String("kinds", "transport,hostile,cm,bundle,session,mock,sim", "which kinds, in this order")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := soak(ctx, strings.Split(*only, ","), *base, *seeds, *jobs); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

// errFound makes a soak that found something a failure.
var errFound = errors.New("some seeds failed")

// soak runs the named kinds and prints what became of each.
func soak(ctx context.Context, names []string, base, seeds uint64, jobs int) error {
	dir, err := os.MkdirTemp("", "braid-soak-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fmt.Printf("soak: %d seeds of each kind from %d on, %d processes\n", seeds, base, jobs)
	var summary []string
	failed := uint64(0)
	for _, name := range names {
		k, err := kindOf(name)
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			summary = append(summary, name+": not begun")
			continue
		}
		program, err := k.buildIn(ctx, dir)
		if err != nil {
			return err
		}
		c := campaign{name: name, first: base, seeds: seeds, chunk: k.chunk, jobs: jobs, out: os.Stdout}
		c.work(ctx, func(ctx context.Context, first, count uint64) ([]byte, error) {
			return run(ctx, k.command(program, first, count))
		})
		failed += c.failed
		summary = append(summary, c.summary())
	}
	fmt.Println(strings.Join(summary, "\n"))
	if failed > 0 {
		return errFound
	}
	return ctx.Err()
}

func kindOf(name string) (kind, error) {
	for _, k := range kinds {
		if k.name == name {
			return k, nil
		}
	}
	return kind{}, fmt.Errorf("there is no kind %q", name)
}

// buildIn builds what runs the seeds, and returns where it is.
func (k kind) buildIn(ctx context.Context, dir string) (string, error) {
	program := filepath.Join(dir, k.name)
	build := exec.CommandContext(ctx, "go", append(append([]string{}, k.build...), "-o", program, k.pkg)...)
	if output, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", k.name, err, output)
	}
	return program, nil
}

// run runs a process on one core and returns what it printed. The process has a
// group of its own: an interrupt at the terminal comes to us, and we end it.
func run(ctx context.Context, cmd *exec.Cmd) ([]byte, error) {
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	cmd.Env = append(cmd.Environ(), "GOMAXPROCS=1")
	ownGroup(cmd)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
	defer stop()
	err := cmd.Wait()
	return output.Bytes(), err
}
