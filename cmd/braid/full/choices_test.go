package full

import (
	"slices"
	"strings"
	"testing"

	"github.com/braid-rdma/braid/transport"
)

// Shells complete what the registry has.
func TestNamesAreCompleted(t *testing.T) {
	controls := transport.CongestionControls.Names()
	all := slices.Concat(controls, transport.RateControls.Names())
	for _, c := range []struct {
		command string
		want    []string
	}{
		{"perf write bw --policy", transport.PathPolicies.Names()},
		{"demo --policy", transport.PathPolicies.Names()},
		{"sim run quickstart --policy", transport.PathPolicies.Names()},
		{"perf read lat --cc", all},
		{"demo --cc", controls},
		{"sim run quickstart --cc", all},
	} {
		args := append([]string{"__complete"}, strings.Fields(c.command)...)
		_, stdout, _ := braid(t, append(args, "")...)
		lines := strings.Split(strings.TrimSpace(stdout), "\n")
		if got := lines[:len(lines)-1]; !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.command, got, c.want)
		}
	}
}
