package sim

import (
	"errors"
	"testing"

	"github.com/braid-rdma/braid/sim/workload"
	"github.com/braid-rdma/braid/verbs"
)

// TestBytesArrive moves real bytes through a network that loses, damages, doubles
// and reorders packets, by reference and encoded.
func TestBytesArrive(t *testing.T) {
	for name, qp := range map[string]verbs.QPOptions{"MP paper": paper, "MP wire": wired, "RC": rc} {
		for _, wireMode := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				n := newNetwork(t, leafSpine(2, 2, 2), Config{Seed: 7, MTU: 1024, Verify: true, Wire: wireMode})
				for _, link := range []string{"leaf0-spine0", "leaf1-spine1"} {
					impair(t, n, 0, link, Both, Impairment{Loss: 0.01, Corrupt: 0.01, Duplicate: 0.02, Jitter: 2 * Microsecond})
				}
				flows := []workload.Flow{
					{Src: 0, Dst: 2, Bytes: 300_001},
					{Src: 3, Dst: 1, Bytes: 123_457, Message: 7001},
					{Src: 2, Dst: 0, Bytes: 1},
					{Src: 1, Dst: 3, Bytes: 65_536, Sync: 0.5, Message: 4096},
				}
				traffic := carry(t, n, qp, flows...)
				finish(t, n, traffic)
				sum := total(n)
				if sum.Lost == 0 || sum.Damaged == 0 || sum.Doubled == 0 {
					t.Errorf("the faults did nothing: %+v", sum)
				}
				corrupt := uint64(0)
				for _, h := range n.hosts {
					corrupt += h.corrupt
					if h.strange != 0 {
						t.Errorf("host %d could not parse %d packets with a good ICRC", h.number, h.strange)
					}
				}
				// Damage in a field that the ICRC leaves out goes unnoticed, and
				// what is doubled after damage is found twice.
				if corrupt == 0 || !wireMode && corrupt < sum.Damaged*9/10 {
					t.Errorf("%d packets were damaged, %d found out", sum.Damaged, corrupt)
				}
			})
		}
	}
}

// TestVerifyFindsAWrongByte shows that Verify is able to fail.
func TestVerifyFindsAWrongByte(t *testing.T) {
	n := newNetwork(t, leafSpine(2, 1, 1), Config{Seed: 7, Verify: true})
	traffic := carry(t, n, rc, workload.Flow{Src: 0, Dst: 1, Bytes: 10_000})
	finish(t, n, traffic)
	traffic.flows[0].region[1].Bytes()[5000] ^= 1
	if err := traffic.Verify(); !errors.Is(err, ErrWrongBytes) {
		t.Errorf("Verify answers %v", err)
	}
}

// TestWireModeChangesNothing checks that encoding and parsing every packet gives
// the same result as handing it over.
func TestWireModeChangesNothing(t *testing.T) {
	for name, qp := range map[string]verbs.QPOptions{"MP paper": paper, "MP wire": wired, "RC": rc} {
		var results [2][]FlowResult
		for mode := range results {
			cfg := Config{Seed: 7, Verify: true, Wire: mode == 1}
			cfg.Switch.Marking = Marking{Kmin: 10_000, Kmax: 40_000, Pmax: 0.5}
			n := newNetwork(t, leafSpine(2, 3, 2), cfg)
			traffic := carry(t, n, qp, permutation(t, n, 200_000)...)
			finish(t, n, traffic)
			for i := range traffic.Flows() {
				results[mode] = append(results[mode], traffic.Result(i))
			}
		}
		for i := range results[0] {
			if results[0][i].Finished != results[1][i].Finished || results[0][i].FlowCounts != results[1][i].FlowCounts {
				t.Errorf("%s, flow %d: %+v, in wire mode %+v", name, i, results[0][i], results[1][i])
			}
		}
	}
}
