package sim

import (
	"errors"
	"testing"

	"github.com/braid-rdma/braid/sim/workload"
)

// TestFlood sends one packet to a host whose port its leaf has forgotten: a copy leaves by every other port, ends at
// the spine and at the hosts that it is not for, and reaches the one that it is for.
func TestFlood(t *testing.T) {
	const host = 4 // the second of leaf1's three
	for then, want := range map[Unknown]uint64{Flood: 1, Discard: 0} {
		n := newNetwork(t, leafSpine(2, 3, 2), Config{Seed: 1})
		if err := n.Forget(0, "leaf1", host, then); err != nil {
			t.Fatal(err)
		}
		n.Run(1)
		inject(n, 0, host, 1000, 3, 7)
		inject(n, 3, 5, 1000, 3, 7) // beside it nothing has changed
		n.Run(Second)
		// It came by the spine whose link carried something towards leaf1.
		for _, spine := range []string{"spine0", "spine1"} {
			came, back := packets(n, spine, "leaf1"), packets(n, "leaf1", spine)
			if came+back > 1 || came == 0 && back != want {
				t.Errorf("way %d: %d packets from %s and %d to it", then, came, spine, back)
			}
		}
		for to, expected := range map[string]uint64{"h3": want, "h4": want, "h5": want + 1} {
			if got := packets(n, "leaf1", to); got != expected {
				t.Errorf("way %d: %d packets to %s, want %d", then, got, to, expected)
			}
		}
		if got := packets(n, "spine0", "leaf0") + packets(n, "spine1", "leaf0"); got != 0 {
			t.Errorf("way %d: %d packets came back to leaf0", then, got)
		}
		for i, h := range n.hosts {
			expected := uint64(0)
			switch i {
			case host:
				expected = want
			case 5:
				expected = 1
			}
			if h.unknown != expected {
				t.Errorf("way %d: %d packets were accepted by host %d, want %d", then, h.unknown, i, expected)
			}
		}
		if err := n.AuditEnd(); err != nil {
			t.Error(err)
		}
	}
}

// packets is how many a direction of a link has carried.
func packets(n *Network, from, to string) uint64 {
	number, ok := n.LinkNumber(from, to)
	if !ok {
		panic("no link from " + from + " to " + to)
	}
	return n.Link(number).Packets
}

// TestFloodedFlow lets connections work over a port that is forgotten meanwhile, and the same with one worker and with
// two; where packets are discarded, they end.
func TestFloodedFlow(t *testing.T) {
	for _, then := range []Unknown{Flood, Discard} {
		var ended [2]Time
		for workers := 1; workers <= 2; workers++ {
			n := newNetwork(t, leafSpine(2, 3, 2), Config{Seed: 1, MTU: 1024, Verify: true, Workers: workers})
			traffic := carry(t, n, rc, workload.Flow{Src: 0, Dst: 4, Bytes: 300_000}, workload.Flow{Src: 3, Dst: 5, Bytes: 300_000})
			if err := n.Forget(50*Microsecond, "leaf1", 4, then); err != nil {
				t.Fatal(err)
			}
			n.Run(10 * Second)
			r := traffic.Result(0)
			ended[workers-1] = r.Finished
			if ok := r.Done() && r.Err == nil; ok != (then == Flood) {
				t.Errorf("way %d: done %v, error %v", then, r.Done(), r.Err)
			}
			if r := traffic.Result(1); !r.Done() || r.Err != nil {
				t.Errorf("way %d: beside it done %v, error %v", then, r.Done(), r.Err)
			}
			if err := n.AuditEnd(); err != nil {
				t.Error(err)
			}
		}
		if ended[0] != ended[1] {
			t.Errorf("way %d: ended at %v with one worker, at %v with two", then, ended[0], ended[1])
		}
	}
}

func TestForgetRefused(t *testing.T) {
	n := newNetwork(t, leafSpine(2, 1, 1), Config{Seed: 1})
	for what, err := range map[string]error{
		"a host as a switch": n.Forget(0, "h0", 0, Flood),
		"no such host":       n.Forget(0, "leaf0", 2, Flood),
		"no such way":        n.Forget(0, "leaf0", 0, Discard+1),
	} {
		if !errors.Is(err, ErrConfig) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
