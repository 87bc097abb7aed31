package sim

import (
	"errors"
	"slices"
	"testing"

	"github.com/braid-rdma/braid/sim/workload"
)

// Flows of one host take turns where the host's outstanding messages are bounded: no flow is ever ahead of another by
// more than what is outstanding and one that was first. Flows of another host have a bound of their own.
func TestHostDepth(t *testing.T) {
	const message, messages, bound = 1000, 40, 2
	n := newNetwork(t, leafSpine(2, 2, 2), Config{Seed: 7, MTU: 1024})
	flow := workload.Flow{Src: 0, Dst: 1, Bytes: messages * message, Message: message}
	flows := slices.Repeat([]workload.Flow{flow}, 5)
	flows[4].Src, flows[4].Dst = 2, 3
	traffic, err := n.Carry(flows, Carrier{QP: rc, HostDepth: bound})
	if err != nil {
		t.Fatal(err)
	}
	for now := Time(0); traffic.Unfinished() > 0; now += Microsecond {
		n.Run(now)
		acked := []int64{traffic.Acked(0), traffic.Acked(1), traffic.Acked(2), traffic.Acked(3)}
		if ahead := slices.Max(acked) - slices.Min(acked); ahead > (bound+1)*message {
			t.Fatalf("at %v flows have %v bytes: one is %d ahead", now, acked, ahead)
		}
		if s := traffic.sites[0]; s.posts.outstanding > bound {
			t.Fatalf("at %v %d messages are outstanding, want at most %d", now, s.posts.outstanding, bound)
		}
	}
	if alone, shared := traffic.Result(4), traffic.Result(0); alone.Duration() > shared.Duration()*2/3 {
		t.Errorf("a flow alone took %v, one of four %v", alone.Duration(), shared.Duration())
	}
	if _, err := n.Carry(flows, Carrier{QP: rc, HostDepth: -1}); !errors.Is(err, ErrConfig) {
		t.Errorf("a negative bound: %v", err)
	}
}
