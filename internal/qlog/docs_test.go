package qlog

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/braid-rdma/braid/transport"
)

// docs/trace.md has a row for every kind of event and every reason.
func TestTraceIsDocumented(t *testing.T) {
	data, err := os.ReadFile("../../docs/trace.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := strings.Count(string(data), "\n| `")
	var names []string
	for k := transport.TraceSent; k.String() != "unknown"; k++ {
		names = append(names, k.String())
	}
	for r := transport.ReasonNone; r.String() != "unknown"; r++ {
		names = append(names, r.String())
	}
	names = append(names, "events_dropped")
	for _, name := range names {
		if !strings.Contains(string(data), fmt.Sprintf("\n| `%s` | ", name)) {
			t.Errorf("docs/trace.md has no row for %q", name)
		}
	}
	if rows != len(names) {
		t.Errorf("docs/trace.md has %d rows, there are %d names", rows, len(names))
	}
	if !strings.Contains(string(data), Schema) {
		t.Errorf("docs/trace.md does not tell of %s", Schema)
	}
}
