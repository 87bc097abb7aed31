package trials

import (
	"context"
	"errors"
	"os"
	"testing"

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
)

func TestMain(m *testing.M) {
	if os.Getenv(asAgent) != "" {
		if traffic.Agent(context.Background(), os.Args[1:], os.Stdin, os.Stdout) != nil {
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
	options := Options{Quick: true, Margin: margin, Kinds: []traffic.Kind{traffic.MP}, Command: []string{os.Args[0]}}
	for _, trial := range All() {
		t.Run(trial.Name, func(t *testing.T) {
			for attempt := 1; ; attempt++ {
				outcome, err := trial.Run(t.Context(), options)
				if errors.Is(err, lab.ErrPrivilege) || errors.Is(err, lab.ErrFeature) {
					t.Skip(err)
				}
				if err != nil {
					t.Fatal(err)
				}
				if err := outcome.Write(t.TempDir()); err != nil {
					t.Fatal(err)
				}
				missed := outcome.Table.Outside()
				t.Logf("%s%s", outcome.Grid.Text(), outcome.Table.Text())
				if outcome.Table.Count(table.Within) > 0 && len(missed) == 0 {
					return
				}
				if attempt == attempts {
					t.Fatalf("missed in each of %d attempts:\n%s", attempts, missed.Text())
				}
			}
		})
	}
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
