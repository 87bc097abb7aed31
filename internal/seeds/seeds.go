// Package seeds says which seeds a test runs. The environment decides, so that one command
// runs new ones in every package and replays a single one.
package seeds

import (
	"os"
	"strconv"
	"testing"
)

// Range is the first seed that a test runs and how many: BRAID_SEED_BASE, else 1, and
// BRAID_SEEDS, else the usual number.
func Range(t testing.TB, usual uint64) (first, count uint64) {
	t.Helper()
	return Number(t, "BRAID_SEED_BASE", 1), Number(t, "BRAID_SEEDS", usual)
}

// Number reads a number from the environment.
func Number(t testing.TB, name string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// SayReplay makes the test of a seed print how to run it alone, if it fails.
func SayReplay(t testing.TB, seed uint64, pkg string) {
	t.Helper()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("replay: BRAID_SEED_BASE=%d BRAID_SEEDS=1 go test %s -run '^TestSeeds' -count=1 -v", seed, pkg)
		}
	})
}
