package rxe

import (
	"bufio"
	"context"
	"encoding/json"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/braid-rdma/braid/verbs"
)

// engineTest is the test program of package ibverbs in the machine.
const engineTest = "ibverbs.test"

// These are second addresses of the machine: a second device for package ibverbs.
var (
	guestAddr2  = netip.MustParseAddr("10.77.0.3")
	guestAddr62 = netip.MustParseAddr("fd77::3")
)

// engineTime is what its tests may take.
const engineTime = 4 * time.Minute

// The tests of package ibverbs run on the kernel's driver, with both ends in the machine.
func TestEngineInTheMachine(t *testing.T) {
	guest(t)
	run(t, playTime, "ip", "address", "replace", guestAddr2.String()+"/24", "dev", "eth0")
	defer run(t, playTime, "ip", "address", "del", guestAddr2.String()+"/24", "dev", "eth0")
	gidIndexOf(t, guestAddr2)
	output := run(t, engineTime, engineTest, "-test.v", "-addrs", guestAddr.String()+","+guestAddr2.String())
	t.Log(output)
	wantTested(t, output)
}

// Addresses of IPv6 have GIDs and datagram headers of another form.
func TestEngineOverIPv6(t *testing.T) {
	guest(t)
	for _, addr := range []netip.Addr{guestAddr6, guestAddr62} {
		run(t, playTime, "ip", "address", "replace", addr.String()+"/64", "dev", "eth0", "nodad")
		gidIndexOf(t, addr)
	}
	output := run(t, engineTime, engineTest, "-test.v", "-test.run", "Operations|Datagrams", "-addrs", guestAddr6.String()+","+guestAddr62.String())
	t.Log(output)
	wantTested(t, output)
}

// wantTested checks that tests of the engine were run, not skipped.
func wantTested(t *testing.T, output string) {
	t.Helper()
	for line := range strings.Lines(output) {
		if strings.HasPrefix(line, "--- SKIP") && !strings.Contains(line, "TestPeerOfAnotherEngine") {
			t.Errorf("not tested: %s", line)
		}
	}
	if !strings.Contains(output, "--- PASS: TestOperationsCarryTheirBytes") {
		t.Error("the tests of the operations did not run")
	}
}

// greeting is what two ends tell each other before they connect, as package ibverbs
// has it in its test.
type greeting struct {
	Params verbs.ConnParams
	Addr   uint64
	RKey   verbs.RKey
}

// A device of package ibverbs in the machine and one of package udp here. The other half
// of this conversation is ibverbs/peer_test.go.
func TestEngineAgainstUDP(t *testing.T) {
	const length = 100_000
	d := openDevice(t)
	ctx, cancel := context.WithTimeout(t.Context(), engineTime)
	defer cancel()
	peer, err := guest(t).Start(ctx, engineTest, "-test.v", "-test.run", "^TestPeerOfAnotherEngine$", "-peer", "-addrs", guestAddr.String()+","+guestAddr.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		peer.Kill()
		if t.Failed() {
			t.Logf("the peer:\n%s", peer.Output())
		}
	})
	c := &couple{t: t}
	c.makeBraidEnd(d, coupleOptions{}.withDefaults())
	theirs := readGreeting(t, bufio.NewScanner(peer))
	if err := c.qp.Prepare(); err != nil {
		t.Fatal(err)
	}
	c.recv(64)
	if err := json.NewEncoder(peer).Encode(greeting{c.qp.Params(), c.mr.Addr(), c.mr.RKey()}); err != nil {
		t.Fatal(err)
	}
	if err := c.qp.Connect(theirs.Params); err != nil {
		t.Fatal(err)
	}
	peer.Discard()

	send := func() {
		c.post(verbs.SendWR{Op: verbs.OpSend, RemoteAddr: theirs.Addr, RKey: theirs.RKey}, 8)
		c.want(nil)
	}
	send() // connected; the peer writes and reads, and says so
	c.want(nil)
	if c.sum(length) != patternSum(length, 1) {
		t.Error("the machine's WRITE left other bytes")
	}
	c.fill(length, 2)
	c.post(verbs.SendWR{Op: verbs.OpWrite, RemoteAddr: theirs.Addr, RKey: theirs.RKey}, length)
	c.want(nil)
	c.post(verbs.SendWR{
		Op: verbs.OpFetchAdd, SwapAdd: 1, SGEs: []verbs.SGE{c.mr.SGE(length, 8)}, RemoteAddr: theirs.Addr + coupleMemory - 8, RKey: theirs.RKey,
	}, 8)
	c.want(nil)
	if before := loadOf(c, length); before != 41 {
		t.Errorf("FETCH_ADD returns %d, want 41", before)
	}
	send() // the peer looks, then tries a wrong key
	if err := peer.Wait(); err != nil {
		t.Error(err)
	}
}

// readGreeting finds the peer's greeting in what its test program prints.
func readGreeting(t *testing.T, lines *bufio.Scanner) (g greeting) {
	t.Helper()
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "{") {
			if err := json.Unmarshal(lines.Bytes(), &g); err != nil {
				t.Fatalf("%s: %v", lines.Text(), err)
			}
			return g
		}
	}
	t.Fatalf("no greeting: %v", lines.Err())
	return g
}
