package sim

import (
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"github.com/braid-rdma/braid/sim/topology"
	"github.com/braid-rdma/braid/sim/workload"
	"github.com/braid-rdma/braid/verbs"
)

// Row 5: when nothing that is sent again arrives, the retry count is exact, and
// the error is IBV_WC_RETRY_EXC_ERR.
func retransmissionsLost(t *testing.T) {
	for name, qp := range map[string]verbs.QPOptions{"MP wire": wired, "MP paper": paper, "RC": rc} {
		for _, retries := range []int{1, 7} {
			qp.Conn.RetryCount = retries
			n := newNetwork(t, paths(2, 10*gbps, 10*gbps), Config{Seed: 1})
			everyPath(2, func(link string) { impair(t, n, 0, link, Forth, Impairment{Down: true}) })
			traffic := carry(t, n, qp, workload.Flow{Src: 0, Dst: 1, Bytes: 10_000})
			n.Run(100 * Second)
			r := traffic.Result(0)
			if !errors.Is(r.Err, verbs.ErrRetryExceeded) || r.Timeouts != uint64(retries)+1 {
				t.Errorf("%s, %d retries: %d timeouts, error %v", name, retries, r.Timeouts, r.Err)
			}
		}
	}
}

// count adds one to a number at the peer many times, with and without an answer
// in between, and answers what the number has become and the answers.
func count(t *testing.T, n *Network, qp verbs.QPOptions, times int) (left uint64, answers []uint64) {
	t.Helper()
	a, b := pair(t, n, qp)
	for i := range times {
		wr := verbs.SendWR{Op: verbs.OpFetchAdd, SwapAdd: 1, RemoteAddr: b.mr.Addr(), RKey: b.mr.RKey(), SGEs: []verbs.SGE{{MR: a.mr, Offset: 8 * i, Length: 8}}, Flags: verbs.Signaled}
		a.must(a.qp.PostSend(&wr))
	}
	for range times {
		a.wait()
	}
	for i := range times {
		answers = append(answers, binary.NativeEndian.Uint64(a.mr.Bytes()[8*i:]))
	}
	return binary.NativeEndian.Uint64(b.mr.Bytes()), answers
}

// checkCounted checks that each of 100 additions ran exactly once, in order.
func checkCounted(t *testing.T, i Impairment, d Direction) {
	t.Helper()
	for name, qp := range map[string]verbs.QPOptions{"MP wire": wired, "MP paper": paper, "RC": rc} {
		n := newNetwork(t, paths(2, 10*gbps, 10*gbps), Config{Seed: 3, Verify: true})
		everyPath(2, func(link string) { impair(t, n, 0, link, d, i) })
		left, answers := count(t, n, qp, 100)
		if left != 100 {
			t.Errorf("%s: the number is %d after 100 additions", name, left)
		}
		if !slices.IsSorted(answers) || answers[0] != 0 || answers[99] != 99 {
			t.Errorf("%s: the answers are %v", name, answers)
		}
		if sum := total(n); sum.Lost+sum.Doubled == 0 {
			t.Errorf("%s: the fault did nothing", name)
		}
	}
}

// Row 6: with half of the acknowledgements of a transfer lost, or a third of all
// answers, or a tenth of the data, nothing is executed twice.
func onlyOneKindLost(t *testing.T) {
	checkCounted(t, Impairment{Loss: 0.3}, Back)
	checkCounted(t, Impairment{Loss: 0.1}, Forth)
	for name, qp := range map[string]verbs.QPOptions{"MP wire": wired, "MP paper": paper, "RC": rc} {
		for _, i := range []Impairment{{Loss: 0.5, Acks: true}, {Loss: 0.1, Data: true}} {
			n := newNetwork(t, paths(2, 10*gbps, 10*gbps), Config{Seed: 3, Verify: true})
			everyPath(2, func(link string) { impair(t, n, 0, link, Both, i) })
			traffic := carry(t, n, qp, workload.Flow{Src: 0, Dst: 1, Bytes: 300_000, Message: 10_000})
			finish(t, n, traffic)
			if total(n).Lost == 0 {
				t.Errorf("%s: nothing was lost", name)
			}
		}
	}
}

// Row 7: reordering within L needs no retransmission; beyond it the data is still
// right.
func reordering(t *testing.T) {
	run := func(slots int, jitter Time) FlowResult {
		qp := paper
		qp.MP.Slots, qp.MP.Delta = slots, slots/2
		n := newNetwork(t, paths(1, 10*gbps, 10*gbps), Config{Seed: 1, Verify: true, MTU: 1024})
		impair(t, n, 0, "tor0-path1", Forth, Impairment{Jitter: jitter})
		traffic := carry(t, n, qp, workload.Flow{Src: 0, Dst: 1, Bytes: 1_000_000})
		finish(t, n, traffic)
		return traffic.Result(0)
	}
	// A packet of 1 KiB takes 0.9 µs, so 20 µs are 22 packets: within L=64.
	if r := run(64, 20*Microsecond); r.MaxOutOfOrder < 5 || r.MaxOutOfOrder >= 64 || r.Retransmitted != 0 {
		t.Errorf("within L: degree %d, %d sent again", r.MaxOutOfOrder, r.Retransmitted)
	}
	if r := run(8, 100*Microsecond); r.Naks == 0 || r.Retransmitted == 0 {
		t.Errorf("beyond L: %d NAKs, %d sent again", r.Naks, r.Retransmitted)
	}
}

// Row 8: a path that is 50 ms slower is pruned: once that has happened, the
// out-of-order degree stays near delta. Nothing is probed here: each probe of such
// a path makes everything that arrives in 50 ms come out of order.
func slowPath(t *testing.T) {
	for name, qp := range map[string]verbs.QPOptions{"paper": paper, "wire": wired} {
		qp.MP.Slots, qp.MP.ProbeProbability, qp.MP.RetirePaths = 4096, 0, false
		var degrees []int
		qp.MP.ObserveDegree = func(d int) { degrees = append(degrees, d) }
		topo := paths(4, 1*gbps, 4*gbps)
		fast, slow := int64(4*topology.Microsecond), int64(25_000*topology.Microsecond)
		topo.Delays = []int64{fast, fast, fast, slow}
		cfg := Config{Seed: 1}
		cfg.Switch.Marking = dctcp
		n := newNetwork(t, topo, cfg)
		traffic := stream(t, n, qp)
		n.Run(500 * Millisecond)
		degrees = degrees[:0]
		rate := goodput(n, traffic, Second)
		slices.Sort(degrees)
		high := degrees[len(degrees)*999/1000]
		t.Logf("%s: %.2f Gb/s, 99.9th percentile of the degree %d over %d packets", name, rate/1e9, high, len(degrees))
		if high > qp.MP.Delta+32 {
			t.Errorf("%s: the 99.9th percentile of the out-of-order degree is %d, delta is %d", name, high, qp.MP.Delta)
		}
	}
}

// Row 9: atomics run once, however often their packets arrive.
func duplicates(t *testing.T) {
	checkCounted(t, Impairment{Duplicate: 0.5}, Both)
}

// Row 10: a request that is repeated because its response was lost is answered
// with the same value.
func responsesLost(t *testing.T) {
	checkCounted(t, Impairment{Loss: 0.3}, Back)
}
