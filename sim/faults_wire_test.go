package sim

import (
	"bytes"
	"testing"

	"github.com/braid-rdma/braid/sim/workload"
	"github.com/braid-rdma/braid/verbs"
)

// Row 11: flipped bits are found by the ICRC, counted, and never delivered.
// Package transport tries every single bit; here they come at random.
func bitFlips(t *testing.T) {
	for name, qp := range map[string]verbs.QPOptions{"MP wire": wired, "MP paper": paper, "RC": rc} {
		n := newNetwork(t, paths(2, 10*gbps, 10*gbps), Config{Seed: 1, Verify: true, Wire: true, MTU: 1024})
		everyPath(2, func(link string) { impair(t, n, 0, link, Both, Impairment{Corrupt: 0.05}) })
		traffic := carry(t, n, qp, workload.Flow{Src: 0, Dst: 1, Bytes: 500_000, Message: 20_000})
		finish(t, n, traffic)
		found := n.hosts[0].corrupt + n.hosts[1].corrupt
		if damaged := total(n).Damaged; damaged < 20 || found < damaged*9/10 || found > damaged {
			t.Errorf("%s: %d packets damaged, %d found", name, damaged, found)
		}
		if n.hosts[0].strange+n.hosts[1].strange != 0 {
			t.Errorf("%s: packets with a good ICRC did not parse", name)
		}
	}
}

// Row 12: what switches may change, such as the ECN bits, is left out of the
// ICRC: marked packets are accepted.
func maskedFields(t *testing.T) {
	cfg := Config{Seed: 1, Verify: true, Wire: true}
	cfg.Switch.Marking = Marking{Kmin: 1, Kmax: 1, Pmax: 1}
	n := newNetwork(t, star(3, 10*gbps), cfg)
	finish(t, n, carry(t, n, wired, incast(2, 200_000)...))
	if total(n).Marked == 0 || n.hosts[0].corrupt != 0 {
		t.Errorf("%d packets marked, %d refused", total(n).Marked, n.hosts[0].corrupt)
	}
}

// Row 15: nothing differs when packet numbers wrap, under loss and reordering.
func numbersWrap(t *testing.T) {
	for name, qp := range map[string]verbs.QPOptions{"MP wire": wired, "MP paper": paper, "RC": rc} {
		n := newNetwork(t, paths(2, 10*gbps, 10*gbps), Config{Seed: 1, Verify: true, Wire: true, MTU: 256})
		everyPath(2, func(link string) {
			impair(t, n, 0, link, Both, Impairment{Loss: 0.01, Jitter: 2 * Microsecond})
		})
		a, b := newSide(t, n, 0, qp), newSide(t, n, 1, qp)
		// First numbers are random: try until one is close to the end.
		const packets = 250
		for tries := 0; a.qp.Params().PSN < 1<<24-packets*9/10; tries++ {
			a.must(a.qp.Close())
			qp.SendCQ = a.cq
			var err error
			a.qp, err = a.pd.CreateQP(qp)
			a.must(err)
			if tries > 2_000_000 {
				t.Fatal("no first number is close to the end")
			}
		}
		a.must(a.qp.Connect(b.qp.Params()))
		b.must(b.qp.Connect(a.qp.Params()))
		for i := range a.mr.Bytes() {
			a.mr.Bytes()[i] = byte(i * 13)
		}
		a.request(verbs.SendWR{Op: verbs.OpWrite, SGEs: []verbs.SGE{a.mr.SGE(0, packets*256)}, RemoteAddr: b.mr.Addr(), RKey: b.mr.RKey()})
		if !bytes.Equal(a.mr.Bytes()[:packets*256], b.mr.Bytes()[:packets*256]) {
			t.Errorf("%s: wrong bytes", name)
		}
	}
}
