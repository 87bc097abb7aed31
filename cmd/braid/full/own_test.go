package full

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/braid-rdma/braid/experiments/experiment"
	"github.com/braid-rdma/braid/experiments/figures"
	"github.com/braid-rdma/braid/experiments/scenario"
	"github.com/braid-rdma/braid/experiments/table"
	"github.com/braid-rdma/braid/sim"
	"github.com/braid-rdma/braid/transport"
)

const ownScenario = `
topology: {kind: testbed}
fabric: {mtu: 1024, ecn: {kmin: 20KB, kmax: 20KB}, pfc: true}
transports: {mp: {kind: mp}}
workload: [{kind: pairs, pairs: [[0, 5]], message: 16KB}]
duration: 200us
`

// ownMade counts how often the policy of the tests was made.
var ownMade atomic.Int64

// registerOwnPolicy registers it, in this process and in those that tests start.
func registerOwnPolicy() {
	transport.PathPolicies.Register(transport.Entry[transport.NewPathPolicy]{
		Name: "own-policy", Description: "that of the tests", New: func(paths int, o *transport.MPOptions, r *rand.Rand) transport.PathPolicy {
			ownMade.Add(1)
			return transport.NewRandomSpray(paths, o, r)
		},
	})
}

// TestOwnPolicy: what a program registers has a name in scenarios, sweeps and figures.
func TestOwnPolicy(t *testing.T) {
	own := experiment.Experiment{
		Name: "own-figure", Title: "Of the test", Paper: "none", Section: "none", README: "none", Scenario: []byte(ownScenario),
		Cases: []experiment.Case{{Name: "own", For: 100 * sim.Microsecond, Change: func(s *scenario.Scenario) {
			s.Transports["mp"].MP.Policy = "own-policy"
		}}},
		Measures: []experiment.Measure{{Name: "goodput", Of: (*experiment.Reading).Goodput}},
		Rows:     []experiment.Row{{Quantity: "goodput", Published: table.NoNumber(), Tolerance: table.AtLeast(1), Value: experiment.Mean("own", "goodput")}},
	}
	figures.Register(own.Figure())
	file := filepath.Join(t.TempDir(), "own.yaml")
	if err := os.WriteFile(file, []byte(strings.Replace(ownScenario, "kind: mp", "kind: mp, policy: own-policy", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"sim run " + file,
		"sim run quickstart --policy own-policy",
		"sim sweep quickstart --workers 1 --grid transports.mp.policy=own-policy",
		"sim figure own-figure --strict --workers 1",
	} {
		ownMade.Store(0)
		if code, stdout, stderr := braid(t, strings.Fields(line)...); code != 0 || ownMade.Load() == 0 {
			t.Errorf("%s: code %d, the policy was made %d times: %s%s", line, code, ownMade.Load(), stdout, stderr)
		}
	}
}
