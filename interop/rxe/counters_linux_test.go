package rxe

import (
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/braid-rdma/braid/udp"
	"github.com/braid-rdma/braid/verbs"
)

// countersDir is where the kernel's driver shows its counters.
const countersDir = "/sys/class/infiniband/rxe0/ports/1/hw_counters/"

// kernelCounters reads the counters of the kernel's driver.
func kernelCounters(t *testing.T) map[string]int {
	t.Helper()
	text := run(t, playTime, "busybox", "grep", "-r", "", countersDir)
	counters := map[string]int{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(strings.TrimPrefix(line, countersDir)), ":")
		n, err := strconv.Atoi(value)
		if err != nil {
			t.Fatalf("counter %q: %v", line, err)
		}
		counters[name] = n
	}
	return counters
}

// since is what the counters have grown by.
func since(before, after map[string]int) map[string]int {
	grown := map[string]int{}
	for name := range after {
		grown[name] = after[name] - before[name]
	}
	return grown
}

var dropped = regexp.MustCompile(`chain (\w+) \{[^}]*counter packets (\d+)`)

// droppedPackets are those that lose has dropped.
func droppedPackets(t *testing.T) map[direction]int {
	t.Helper()
	text, err := exec.Command("nft", "list", "table", "netdev", "loss").Output()
	if err != nil {
		t.Fatal(err)
	}
	counts := map[direction]int{}
	for _, match := range dropped.FindAllStringSubmatch(string(text), -1) {
		if counts[direction(match[1])], err = strconv.Atoi(match[2]); err != nil {
			t.Fatal(err)
		}
	}
	return counts
}

// What one end says that it has sent the other says that it has received, but for
// what was dropped on the way.
func TestCounters(t *testing.T) {
	for _, oneOf := range []int{0, 30} {
		t.Run(fmt.Sprint("losing one of ", oneOf), func(t *testing.T) {
			guest(t)
			if _, err := exec.LookPath("nft"); err != nil && oneOf > 0 {
				t.Skip("interop: packets cannot be lost on purpose: nft is missing (Debian: nftables)")
			}
			d, err := udp.Open(udp.Config{Addr: hostAddr, AnyIPID: true, NoSegmentation: true})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { d.Close() })
			before := kernelCounters(t)
			timeout := 0
			if oneOf > 0 {
				lose(t, oneOf, toKernel, toBraid)
				timeout = lossTimeout
			}
			c := newCouple(t, coupleOptions{device: d, timeout: timeout})
			for i, o := range operations {
				o.check(c, 40000, byte(i))
			}
			// A packet that was sent twice may still be under way, and not all are counted at
			// one moment.
			end := time.Now().Add(playTime)
			for {
				lost := map[direction]int{}
				if oneOf > 0 {
					lost = droppedPackets(t)
				}
				problems := compareCounters(t, d, c.qp.Stats(), since(before, kernelCounters(t)), lost)
				if len(problems) == 0 {
					return
				}
				if time.Now().After(end) {
					t.Fatal(strings.Join(problems, "\n"))
				}
			}
		})
	}
}

// compareCounters returns what does not agree.
func compareCounters(t *testing.T, d *verbs.Device, ours verbs.Stats, kernel map[string]int, lost map[direction]int) (problems []string) {
	t.Helper()
	engine, _ := udp.StatsOf(d)
	t.Logf("braid: sent %d, received %d, %v\nthe kernel: %v\ndropped: %v", engine.PacketsSent, engine.PacketsReceived, ours.Map(), kernel, lost)
	for _, pair := range []struct {
		what        string
		sent, taken int
		lost        int
	}{
		{"braid to the kernel", int(engine.PacketsSent), kernel["rcvd_pkts"], lost[toKernel]},
		{"the kernel to braid", kernel["sent_pkts"], int(engine.PacketsReceived), lost[toBraid]},
	} {
		if pair.sent != pair.taken+pair.lost {
			problems = append(problems, fmt.Sprintf("%s: %d sent, %d received, %d dropped", pair.what, pair.sent, pair.taken, pair.lost))
		}
	}
	if len(lost) == 0 {
		if ours.Retransmitted > 0 || kernel["duplicate_request"]+kernel["out_of_seq_request"]+kernel["completer_retry_err"] > 0 {
			problems = append(problems, "something was repeated, though nothing was lost")
		}
		return problems
	}
	// What the kernel calls a duplicate is something that we have sent again, and
	// the other way round.
	if kernel["duplicate_request"] > int(ours.Retransmitted) {
		problems = append(problems, fmt.Sprintf("the kernel saw %d duplicates; braid sent %d packets again", kernel["duplicate_request"], ours.Retransmitted))
	}
	if ours.Retransmitted == 0 || kernel["completer_retry_err"]+kernel["rcvd_seq_err"] == 0 && ours.DuplicateRequest+ours.NaksSent == 0 {
		problems = append(problems, "nobody repeated anything, though packets were lost")
	}
	return problems
}
