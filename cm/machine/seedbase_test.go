package machine

import (
	"os"
	"strconv"
	"testing"
)

// seedBase is the first seed that a test runs: BRAID_SEED_BASE, or 1.
func seedBase(t *testing.T) uint64 {
	t.Helper()
	text := os.Getenv("BRAID_SEED_BASE")
	if text == "" {
		return 1
	}
	base, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("BRAID_SEED_BASE: %v", err)
	}
	return base
}

// sayReplay makes a test of a seed print how to run it alone, if it fails.
func sayReplay(t *testing.T, seed uint64) {
	t.Helper()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("replay: BRAID_SEED_BASE=%d BRAID_SEEDS=1 go test ./cm/machine -run '^TestSeeds' -count=1 -v", seed)
		}
	})
}
