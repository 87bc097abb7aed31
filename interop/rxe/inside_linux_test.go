package rxe

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A contest is a measurement of the kernel's driver and of braid, both inside the
// machine, where they have the same processor: only the ratio means something.
type contest struct {
	op, metric string
	args       []string
	column     int // of the program's row
	// field is that of braid's JSON.
	field func(r map[string]any) float64
}

var contests = []contest{
	{"write", "bw", []string{"-s", "65536", "-n", "100"}, 3, average},
	{"send", "lat", []string{"-s", "64", "-n", "100"}, 4, typical},
	// The rest is for whoever wants the table: see chosenContests.
	{"send", "bw", []string{"-s", "65536", "-n", "100"}, 3, average},
	{"read", "bw", []string{"-s", "65536", "-n", "100"}, 3, average},
	{"write", "lat", []string{"-s", "64", "-n", "100"}, 4, typical},
	{"read", "lat", []string{"-s", "64", "-n", "100"}, 4, typical},
}

func average(r map[string]any) float64 { return r["bw_average_mib_s"].(float64) }
func typical(r map[string]any) float64 { return r["lat_us"].(map[string]any)["p50"].(float64) }

// chosenContests are two, which show that both run there; BRAID_CONTESTS=all makes it all of them. The
// operations themselves have tests that compare bytes, not speed.
func chosenContests() []contest {
	if allContests() {
		return contests
	}
	return contests[:2]
}

func allContests() bool { return os.Getenv("BRAID_CONTESTS") == "all" }

// braid runs beside the kernel's driver in the same machine, with the same tests.
// In a machine with one processor this measures little more than how the two
// ends take turns at it.
func TestInsideTheMachine(t *testing.T) {
	guest(t)
	var table strings.Builder
	for _, c := range chosenContests() {
		// perftest now and then reports a rate of zero, in a machine whose clock
		// depends on its host's; its ratio is then infinite in the table.
		kernel := c.measureKernel(t)
		for tries := 1; kernel <= 0 && tries < 3; tries++ {
			kernel = c.measureKernel(t)
		}
		rc := c.measureBraid(t, "rc")
		mp := c.measureBraid(t, "mp")
		if rc <= 0 || mp <= 0 {
			t.Errorf("%s %s: implausible: %v, %v", c.op, c.metric, rc, mp)
		}
		fmt.Fprintf(&table, "%-5s %-3s %-22s rxe %8.1f  braid RC %8.1f (%.2f)  braid MP %8.1f (%.2f)\n",
			c.op, c.metric, strings.Join(c.args, " "), kernel, rc, rc/kernel, mp, mp/kernel)
	}
	t.Logf("%d processors; MiB/s, or microseconds (and as a ratio to rxe):\n%s", processors(), table.String())
}

// measureKernel runs perftest's program at both ends.
func (c contest) measureKernel(t *testing.T) float64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), playTime)
	defer cancel()
	program := append([]string{"ib_" + c.op + "_" + c.metric, "-d", "rxe0", "-F"}, c.args...)
	server, err := guest(t).Start(ctx, program...)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Kill()
	server.Discard()
	awaitListener(ctx, t, perftestPort)
	output, err := guest(t).Run(ctx, append(program, guestAddr.String())...)
	if err != nil {
		t.Fatal(err)
	}
	size := c.args[1]
	for line := range strings.Lines(output) {
		if fields := strings.Fields(line); len(fields) > c.column && fields[0] == size {
			value, err := strconv.ParseFloat(fields[c.column], 64)
			if err != nil {
				t.Fatal(err)
			}
			return value
		}
	}
	t.Fatalf("no row for %s bytes in:\n%s", size, output)
	return 0
}

// measureBraid runs the command at both ends. The kernel's driver holds braid's
// port, so braid has a network namespace to itself.
func (c contest) measureBraid(t *testing.T, qp string) float64 {
	t.Helper()
	command := fmt.Sprintf("ip link set lo up && braid perf %s %s --loopback --json --qp %s %s", c.op, c.metric, qp, strings.Join(slices.Concat(c.args, patience), " "))
	output := run(t, playTime, "busybox", "unshare", "-n", "sh", "-c", command)
	var result map[string]any
	if err := json.Unmarshal([]byte(output), &result); err != nil {
		t.Fatalf("%v:\n%s", err, output)
	}
	return c.field(result)
}
