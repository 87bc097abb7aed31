package rxe

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/braid-rdma/braid/interop/rxe/machine"
)

// The link between braid and the machine. Its MTU leaves room for packets with
// 4096 bytes of payload.
const (
	linkMTU = 4240
	tapName = "tap0"
)

var (
	hostAddr  = netip.MustParseAddr("10.77.0.1")
	guestAddr = netip.MustParseAddr("10.77.0.2")
)

// stockPrograms are the programs of Debian that are run against braid.
var stockPrograms = []string{
	"ibv_rc_pingpong", "ibv_ud_pingpong", "ibv_srq_pingpong",
	"ib_send_bw", "ib_write_bw", "ib_read_bw", "ib_send_lat", "ib_write_lat", "ib_read_lat", "ib_atomic_bw", "ib_atomic_lat",
	"rping", "rdma_server", "rdma_client",
}

// The variables by which the process in the namespace learns what was prepared:
// the image, or why there is none.
const (
	imageVariable       = "BRAID_INTEROP_IMAGE"
	unavailableVariable = "BRAID_INTEROP_UNAVAILABLE"
)

func TestMain(m *testing.M) {
	flag.Parse()
	image, reason := os.Getenv(imageVariable), os.Getenv(unavailableVariable)
	listing := flag.Lookup("test.list").Value.String() != ""
	if image == "" && reason == "" && !testing.Short() && !listing {
		status, err := prepareAndIsolate()
		if !errors.Is(err, machine.ErrUnavailable) {
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				status = 1
			}
			os.Exit(status)
		}
		os.Setenv(unavailableVariable, err.Error())
	}
	status := m.Run()
	if booted != nil {
		booted.Close()
	}
	os.Exit(status)
}

// prepareAndIsolate makes the machine's image and runs the tests in a network
// namespace. Its error is ErrUnavailable where no test can run.
func prepareAndIsolate() (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	dir, err := os.MkdirTemp("", "braid-interop-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	if err := machine.Requirements(stockPrograms...); err != nil {
		return 0, err
	}
	files, err := buildPrograms(ctx, dir)
	if err != nil {
		return 1, err
	}
	if err := machine.BuildImage(ctx, machine.Image{Programs: stockPrograms, Files: files}, dir); err != nil {
		return 1, err
	}
	return machine.Isolate(imageVariable + "=" + dir)
}

var (
	bootOnce sync.Once
	booted   *machine.Machine
	errBoot  error
	users    sync.Map // tests that have asked for the machine, each of which shows its console once
)

// guest is the machine that all tests share. A host that cannot run it skips
// the test; a machine that does not come up fails it.
func guest(t *testing.T) *machine.Machine {
	t.Helper()
	if testing.Short() {
		t.Skip("interop: the virtual machine takes too long for -short")
	}
	if reason := os.Getenv(unavailableVariable); reason != "" {
		t.Skipf("interop: %s", reason)
	}
	bootOnce.Do(func() {
		booted, errBoot = machine.Boot(context.Background(), machine.Config{
			Dir: os.Getenv(imageVariable), Tap: tapName, MTU: linkMTU, Processors: processors(),
			Host: netip.PrefixFrom(hostAddr, 24), Guest: netip.PrefixFrom(guestAddr, 24),
		})
	})
	if errBoot != nil {
		t.Fatal(errBoot)
	}
	if _, asked := users.LoadOrStore(t, true); !asked {
		t.Cleanup(func() {
			users.Delete(t)
			if t.Failed() {
				t.Logf("the machine's console:\n%s", booted.Console())
			}
		})
	}
	return booted
}

// processors is how many the machine has. One is emulated for two thirds of what two cost, since a program that polls does
// so only while the other has nothing to do; what measures such programs needs two, unless this process is not to use as many.
func processors() int {
	if !allContests() {
		return 1
	}
	return min(runtime.GOMAXPROCS(0), 2)
}

// run runs a program in the machine, which must succeed within a time.
func run(t *testing.T, within time.Duration, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	output, err := guest(t).Run(ctx, args...)
	if err != nil {
		t.Fatal(err)
	}
	return output
}

func TestMachine(t *testing.T) {
	if link := run(t, playTime, "rdma", "link"); !strings.Contains(link, "rxe0/1 state ACTIVE") {
		t.Errorf("rdma link: %s", link)
	}
}
