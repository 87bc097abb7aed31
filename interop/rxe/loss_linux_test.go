package rxe

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/braid-rdma/braid/interop/pingpong"
	"github.com/braid-rdma/braid/udp"
	"github.com/braid-rdma/braid/verbs"
)

// lossTimeout is short, because a packet that was lost at the end of a message is
// only missed by time: 4.096 µs · 2^16 is 268 ms. Its seven retries still outlast
// the moments in which a busy host does not run the machine.
const lossTimeout = 16

// A direction of the link, as nftables names it at the device.
type direction string

const (
	toKernel direction = "egress"
	toBraid  direction = "ingress"
)

// verdict loses a packet without a word. Whoever sends a packet that is dropped
// is told so, and braid then sends it again at once; so on that way packets are led
// to the loopback device, where nobody is interested in them.
func (d direction) verdict() string {
	if d == toKernel {
		return `fwd to "lo"`
	}
	return "drop"
}

// lose drops one of so many packets in some directions until the test ends.
func lose(t *testing.T, oneOf int, directions ...direction) {
	t.Helper()
	var rules strings.Builder
	rules.WriteString("table netdev loss {\n")
	for _, d := range directions {
		fmt.Fprintf(&rules, "chain %s { type filter hook %s device %q priority 0; udp dport %d numgen random mod %d == 0 counter %s; }\n",
			d, d, tapName, rocePort, oneOf, d.verdict())
	}
	rules.WriteString("}\n")
	nft(t, rules.String())
	t.Cleanup(func() { nft(t, "delete table netdev loss\n") })
}

// nft runs a script of rules in this process's network namespace.
func nft(t *testing.T, script string) {
	t.Helper()
	cmd := exec.Command("nft", "-f", "-")
	cmd.Stdin = strings.NewReader(script)
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("nft: %v\n%s", err, output)
	}
}

func lossDirections() map[string][]direction {
	return map[string][]direction{
		"to the kernel": {toKernel}, "to braid": {toBraid}, "both ways": {toKernel, toBraid},
	}
}

// Both ends recover from what the other lost, whatever was under way. Without
// segmentation a rule drops a packet, and not a batch of them.
func TestLoss(t *testing.T) {
	if _, err := exec.LookPath("nft"); err != nil {
		t.Skip("interop: packets cannot be lost on purpose: nft is missing (Debian: nftables)")
	}
	for name, directions := range lossDirections() {
		t.Run(name, func(t *testing.T) {
			guest(t)
			d, err := udp.Open(udp.Config{Addr: hostAddr, AnyIPID: true, NoSegmentation: true})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { d.Close() })
			c := newCouple(t, coupleOptions{device: d, mtu: 1024, timeout: lossTimeout})
			lose(t, 25, directions...)
			for i, o := range operations {
				o.check(c, 200, byte(i))
				o.check(c, 60000, byte(i+16))
			}
			for range 20 {
				c.post(verbs.SendWR{Op: verbs.OpFetchAdd, RemoteAddr: c.kmr.addr + coupleMemory - 8, SwapAdd: 1}, 8)
				c.want(nil)
				c.kpost(kernelWR{op: ibvFetchAdd, raddr: c.mr.Addr() + coupleMemory - 8, value: 1}, 8)
				c.kernel.want(ibvSuccess)
			}
			// An atomic that is repeated after a loss must not count twice.
			if here, there := loadOf(c, coupleMemory-8), c.kmr.load(coupleMemory-8); here != 20 || there != 20 {
				t.Errorf("20 atomics added %d here and %d in the kernel", here, there)
			}
			if s := c.qp.Stats(); s.Retransmitted+s.DuplicateRequest+s.NaksSent == 0 {
				t.Errorf("nothing was repeated, so nothing was lost: %v", s.Map())
			}
		})
	}
}

// The stock program recovers as well, against braid with segmentation. It leaves
// when it is content: whether its last acknowledgement arrived does not matter here,
// and package pingpong tests that case on its own.
func TestPingpongWithLoss(t *testing.T) {
	if _, err := exec.LookPath("nft"); err != nil {
		t.Skip("interop: packets cannot be lost on purpose: nft is missing (Debian: nftables)")
	}
	for _, client := range []bool{false, true} {
		t.Run(fmt.Sprint("braid is client: ", client), func(t *testing.T) {
			d := openDevice(t)
			lose(t, 50, toKernel, toBraid)
			playPingpong(t, d, pingpong.Config{Program: pingpong.RC, Size: 8192, MTU: 1024, Iterations: 60, AckTimeout: verbs.AckTimeoutOf(lossTimeout)}, client)
		})
	}
}
