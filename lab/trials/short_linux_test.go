package trials

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/braid-rdma/braid/experiments/table"
	"github.com/braid-rdma/braid/lab"
	"github.com/braid-rdma/braid/lab/traffic"
)

const (
	// asAgent makes the test binary an agent.
	asAgent = "BRAID_TEST_AS_AGENT"
	// askedFor makes TestShortForm run: it needs the machine for itself.
	askedFor = "BRAID_LAB"

	// Other work on the machine disturbs: bounds are looser here than what braid
	// promises, and what misses them may try again.
	margin   = 0.1
	attempts = 3
	// tooMuch is what a hypervisor may take of the processors before a miss says nothing, and tooBusy what other programs
	// may that are not nice: with a quarter of them gone the paths of a trial are not what limits it.
	tooMuch, tooBusy = 0.1, 0.25
)

func TestMain(m *testing.M) {
	if os.Getenv(asAgent) != "" {
		if Agent(context.Background(), os.Args[1:], os.Stdin, os.Stdout) != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestShortForm runs every trial in its quick form with braid MP alone, and checks
// what braid promises.
func TestShortForm(t *testing.T) {
	if os.Getenv(askedFor) == "" {
		t.Skipf("a minute or two of full load: set %s=1 to run it", askedFor)
	}
	t.Setenv(asAgent, "1")
	options := Options{Quick: true, Margin: margin, Kinds: []traffic.Kind{traffic.MP}, Command: []string{os.Args[0]}, Named: browse(t)}
	for _, trial := range All() {
		t.Run(trial.Name, func(t *testing.T) {
			before := readProcessors(t)
			var missed string
			for range attempts {
				if missed = runShort(t, trial, options); missed == "" {
					return
				}
				t.Log(missed)
			}
			stolen, others := readProcessors(t).since(before)
			if stolen > tooMuch {
				t.Skipf("missing processor time: the hypervisor gave %.0f %% of it to others", 100*stolen)
			}
			if others > tooBusy {
				t.Skipf("missing processor time: other programs had %.0f %% of it; each of %d attempts missed something, the last:\n%s", 100*others, attempts, missed)
			}
			t.Fatalf("missed in each of %d attempts; the last:\n%s", attempts, missed)
		})
	}
}

// runShort runs a trial once and returns what it missed, in words.
func runShort(t *testing.T, trial Trial, options Options) string {
	t.Helper()
	outcome, err := trial.Run(t.Context(), options)
	if errors.Is(err, lab.ErrPrivilege) || errors.Is(err, lab.ErrFeature) {
		t.Skip(err)
	}
	if err != nil {
		return err.Error()
	}
	if err := outcome.Write(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s%s", outcome.Grid.Text(), outcome.Table.Text())
	if outcome.Table.Count(table.Within) == 0 {
		return "nothing was judged"
	}
	if missed := outcome.Table.Outside(); len(missed) > 0 {
		return missed.Text()
	}
	return ""
}

// processors is the time of all processors so far, in ticks, what of it a hypervisor gave to other machines, and what other
// programs had that are not nice.
type processors struct{ all, stolen, others float64 }

// ticks is how many of /proc/stat are a second, on all systems that Go runs on.
const ticks = 100

// readProcessors reads /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal. Of user and system what this process
// and those that it has waited for have used is not others'.
func readProcessors(t *testing.T) (p processors) {
	t.Helper()
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		t.Fatal(err)
	}
	const user, system, steal = 1, 3, 8
	for i, field := range strings.Fields(string(text))[:steal+1] {
		if i < user {
			continue // its name
		}
		spent, err := strconv.ParseFloat(field, 64)
		if err != nil {
			t.Fatal(err)
		}
		p.all += spent
		switch i {
		case user, system:
			p.others += spent
		case steal:
			p.stolen = spent
		}
	}
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var used syscall.Rusage
		if err := syscall.Getrusage(who, &used); err != nil {
			t.Fatal(err)
		}
		p.others -= ticks * time.Duration(used.Utime.Nano()+used.Stime.Nano()).Seconds()
	}
	return p
}

// since returns the shares of what was stolen and of what others had.
func (p processors) since(before processors) (stolen, others float64) {
	all := max(p.all-before.all, 1)
	return (p.stolen - before.stolen) / all, (p.others - before.others) / all
}

func TestTrialsRunOneAtATime(t *testing.T) {
	release, err := claim()
	if errors.Is(err, ErrBusy) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := All()[0].Run(t.Context(), Options{}); !errors.Is(err, ErrBusy) {
		t.Errorf("%v, want ErrBusy", err)
	}
	release()
	again, err := claim()
	if err != nil {
		t.Fatal(err)
	}
	again()
}
