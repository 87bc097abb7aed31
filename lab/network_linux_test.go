package lab

import (
	"errors"
	"os/exec"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// testLab names the labs of this package's tests, which run one at a time.
const testLab = "braidtest"

// up builds a lab for a test, or skips the test where that is not possible.
func up(t *testing.T, o Options) *Network {
	t.Helper()
	o.Name = testLab
	n, err := Up(t.Context(), o)
	if errors.Is(err, ErrPrivilege) || errors.Is(err, ErrFeature) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := Down(testLab); err != nil {
			t.Error(err)
		}
	})
	return n
}

func TestUpIsIdempotent(t *testing.T) {
	n := up(t, Options{HostsPerLeaf: 1, Spines: 2})
	before, err := namespacesOf(testLab)
	if err != nil || len(before) != len(n.Nodes) {
		t.Fatalf("namespaces %v, %v", before, err)
	}
	if again, err := Up(t.Context(), n.Options); err != nil || again.Options != n.Options {
		t.Errorf("up again: %v", err)
	}
	if opened, err := Open(testLab); err != nil || opened.Options != n.Options {
		t.Errorf("open: %+v, %v", opened, err)
	}
	other := n.Options
	other.Spines++
	if _, err := Up(t.Context(), other); !errors.Is(err, ErrDiffers) {
		t.Errorf("up with other options: %v, want ErrDiffers", err)
	}
}

func TestDownLeavesNothing(t *testing.T) {
	up(t, Options{HostsPerLeaf: 1, Spines: 1})
	for range 2 {
		if err := Down(testLab); err != nil {
			t.Fatal(err)
		}
		if left, err := namespacesOf(testLab); err != nil || len(left) > 0 {
			t.Errorf("left: %v, %v", left, err)
		}
	}
	if _, err := Open(testLab); !errors.Is(err, ErrNotUp) {
		t.Errorf("open: %v, want ErrNotUp", err)
	}
}

func TestDownEndsWhatRunsInTheLab(t *testing.T) {
	n := up(t, Options{HostsPerLeaf: 1, Spines: 1})
	// One that ignores the request to end.
	cmd := exec.Command("sh", "-c", "trap '' TERM; while :; do sleep 0.1; done")
	if err := n.Start("h0", cmd); err != nil {
		t.Fatal(err)
	}
	namespaces, _ := namespacesOf(testLab)
	if found, err := processesIn(namespaces); err != nil || !slices.Contains(found, cmd.Process.Pid) {
		t.Errorf("processes in the lab: %v, %v; want %d", found, err, cmd.Process.Pid)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	if err := Down(testLab); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(2 * time.Minute):
		t.Error("the program still runs")
		_ = cmd.Process.Kill()
	}
}

// TestUpRepairs builds over what a killed process left: a namespace without
// description, and a file on which nothing is mounted.
func TestUpRepairs(t *testing.T) {
	up(t, Options{HostsPerLeaf: 1, Spines: 1})
	if err := Down(testLab); err != nil {
		t.Fatal(err)
	}
	for _, left := range []string{testLab + "-t0", testLab + "-s0"} {
		if err := createNamespace(left); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Unmount(namespaceDir+"/"+testLab+"-s0", unix.MNT_DETACH); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(testLab); !errors.Is(err, ErrNotUp) {
		t.Errorf("open what is half built: %v, want ErrNotUp", err)
	}
	n := up(t, Options{HostsPerLeaf: 1, Spines: 1})
	if _, err := n.Status(); err != nil {
		t.Error(err)
	}
}

func TestInterruptedUpLeavesNothing(t *testing.T) {
	up(t, Options{HostsPerLeaf: 1, Spines: 1})
	if err := Down(testLab); err != nil {
		t.Fatal(err)
	}
	// The context's end is looked at between two steps.
	ctx := &endsAfter{Context: t.Context(), steps: 5}
	if _, err := Up(ctx, Options{Name: testLab}); !errors.Is(err, errEnded) {
		t.Errorf("%v, want the cause of the end", err)
	}
	if left, err := namespacesOf(testLab); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
