package full

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/braid-rdma/braid/cmd/braid/internal/cli"
)

func TestManualPages(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "man", "man1")
	if code, _, stderr := braid(t, "man", dir); code != cli.ExitOK {
		t.Fatal(stderr)
	}
	for name, want := range map[string]string{
		"braid.1":               "braid-perf",
		"braid-demo.1":          "cut-path",
		"braid-perf-write-bw.1": "tx-depth",
		"braid-perf-serve.1":    "once",
	} {
		page, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
			continue
		}
		// The formatter escapes hyphens.
		if !strings.Contains(strings.ReplaceAll(string(page), `\-`, "-"), want) {
			t.Errorf("%s does not mention %q", name, want)
		}
	}
}
