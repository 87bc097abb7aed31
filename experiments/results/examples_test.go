package results

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/braid-rdma/braid/experiments/scenario"
)

// TestExamples runs every scenario that stands in the repository as an example.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob("../scenarios/*.yaml")
	if err != nil || len(files) < 5 {
		t.Fatalf("found %d examples: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			s, err := scenario.Load(file)
			if err != nil {
				t.Fatal(err)
			}
			if s.Name == "" || s.Description == "" {
				t.Error("an example says what it shows, in name and description")
			}
			run, err := s.Start()
			if err != nil {
				t.Fatal(err)
			}
			if err := run.Go(context.Background(), nil); err != nil {
				t.Fatal(err)
			}
			summary := Summarise(run)
			var text strings.Builder
			if err := summary.Text(&text); err != nil {
				t.Fatal(err)
			}
			t.Log("\n" + text.String())
			if f := summary.Flows; f.Failed > 0 || f.Done+f.Endless != f.Total || f.Goodput.SumBps == 0 {
				t.Errorf("%d of %d flows done, %d failed, %d endless, %.0f b/s", f.Done, f.Total, f.Failed, f.Endless, f.Goodput.SumBps)
			}
			if err := Write(t.TempDir(), run); err != nil {
				t.Error(err)
			}
		})
	}
}
