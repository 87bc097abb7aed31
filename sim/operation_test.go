package sim

import (
	"errors"
	"testing"

	"github.com/braid-rdma/braid/sim/workload"
	"github.com/braid-rdma/braid/verbs"
)

// TestOperations moves real bytes by each operation through a network with faults, and the same with one worker and
// with two. Bytes go from the source to the destination, whoever posts the requests.
func TestOperations(t *testing.T) {
	for name, qp := range map[string]verbs.QPOptions{"MP": wired, "RC": rc} {
		for _, op := range []Operation{ByWrite, BySend, ByRead} {
			var ended [2]Time
			for workers := 1; workers <= 2; workers++ {
				n := newNetwork(t, leafSpine(2, 2, 2), Config{Seed: 7, MTU: 1024, Verify: true, Workers: workers})
				impair(t, n, 0, "leaf0-spine0", Both, Impairment{Loss: 0.01})
				traffic, err := n.Carry([]workload.Flow{
					{Src: 0, Dst: 2, Bytes: 300_001, Message: 7001},
					{Src: 3, Dst: 1, Bytes: 123_457},
				}, Carrier{QP: qp, Op: op})
				if err != nil {
					t.Fatal(err)
				}
				finish(t, n, traffic)
				r := traffic.Result(0)
				ended[workers-1] = r.Finished
				if got := traffic.Delivered(0); got < r.Bytes {
					t.Errorf("%s, operation %d: %d bytes arrived of %d", name, op, got, r.Bytes)
				}
				forth, back := n.Link(0), n.Link(1) // of host 0, the source
				if forth.Bytes < 4*back.Bytes {
					t.Errorf("%s, operation %d: %d bytes left the source and %d came to it", name, op, forth.Bytes, back.Bytes)
				}
			}
			if ended[0] != ended[1] {
				t.Errorf("%s, operation %d: ended at %v with one worker, at %v with two", name, op, ended[0], ended[1])
			}
		}
	}
}

func TestOperationsThatCannotBe(t *testing.T) {
	n := newNetwork(t, leafSpine(2, 1, 1), Config{Seed: 7})
	flow := workload.Flow{Src: 0, Dst: 1, Bytes: 10_000}
	for why, c := range map[string]Carrier{
		"no operation":    {QP: rc, Op: ByRead + 1},
		"chunks by SEND":  {QP: rc, Op: BySend, QPs: 2},
		"dependent reads": {QP: rc, Op: ByRead},
	} {
		flows := []workload.Flow{flow, flow}
		flows[1].After = []int{0}
		if _, err := n.Carry(flows, c); !errors.Is(err, ErrConfig) {
			t.Errorf("%s: %v", why, err)
		}
	}
}
