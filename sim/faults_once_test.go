package sim

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/braid-rdma/braid/verbs"
)

// everyKind are the kinds of reliable queue pair.
var everyKind = map[string]verbs.QPOptions{"MP wire": wired, "MP paper": paper, "RC": rc}

// count adds one to a number at the peer many times, with and without an answer
// in between, and returns what the number has become and what each returned.
func count(t *testing.T, n *Network, qp verbs.QPOptions, times int) (left uint64, answers []uint64) {
	t.Helper()
	a, b := pair(t, n, qp)
	for i := range times {
		wr := verbs.SendWR{Op: verbs.OpFetchAdd, SwapAdd: 1, RemoteAddr: b.mr.Addr(), RKey: b.mr.RKey(), SGEs: []verbs.SGE{a.mr.SGE(8*i, 8)}, Flags: verbs.Signaled}
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

// Row 6: with 30 or 50 % of the replies lost, or as much as the retries bear of
// what asks, each atomic runs once and each SEND takes one receive. A responder
// that keeps no record of what it has executed runs both again when the request
// is repeated for want of an answer.
func onlyOneKindLost(t *testing.T) {
	for _, test := range []struct {
		name      string
		direction Direction
		i         Impairment
	}{
		{"acknowledgements, 30 %", Back, Impairment{Loss: 0.3, Acks: true}},
		{"acknowledgements, 50 %", Back, Impairment{Loss: 0.5, Acks: true}},
		{"data, 10 %", Forth, Impairment{Loss: 0.1, Data: true}},
		{"requests with and without data, 10 %", Forth, Impairment{Loss: 0.1}},
	} {
		for kind, qp := range everyKind {
			lost, again := uint64(0), uint64(0)
			for seed := range uint64(4) {
				name := fmt.Sprintf("%s: %s, seed %d", kind, test.name, seed)
				n := newNetwork(t, paths(2, 10*gbps, 10*gbps), Config{Seed: seed, Verify: true, MTU: 256})
				everyPath(2, func(link string) { impair(t, n, 0, link, test.direction, test.i) })
				a, b := pair(t, n, qp)
				again += askOnce(t, name, n, a, b)
				lost += total(n).Lost
			}
			if lost == 0 || again == 0 {
				t.Errorf("%s: %s: %d packets were lost and %d sent again", kind, test.name, lost, again)
			}
		}
	}
}

// askOnce sends numbered messages and adds to a number at the peer, in turn, and
// checks that each took effect once, in order. It returns how many packets were
// sent again.
func askOnce(t *testing.T, name string, n *Network, a, b *side) (again uint64) {
	t.Helper()
	const (
		rounds = 60
		spare  = 4   // receives that nothing may take
		size   = 600 // three packets
		inbox  = 1024
	)
	for i := range rounds + spare {
		b.must(b.qp.PostRecv(&verbs.RecvWR{ID: uint64(i), SGEs: []verbs.SGE{b.mr.SGE(inbox+i*size, size)}}))
	}
	for i := range rounds {
		copy(a.mr.Bytes()[inbox+i*size:], bytes.Repeat([]byte{byte(i + 1)}, size))
		a.must(a.qp.PostSend(&verbs.SendWR{Op: verbs.OpFetchAdd, SwapAdd: 1, RemoteAddr: b.mr.Addr(), RKey: b.mr.RKey(), SGEs: []verbs.SGE{a.mr.SGE(8*i, 8)}, Flags: verbs.Signaled}))
		a.must(a.qp.PostSend(&verbs.SendWR{Op: verbs.OpSend, SGEs: []verbs.SGE{a.mr.SGE(inbox+i*size, size)}, Flags: verbs.Signaled}))
	}
	for range 2 * rounds {
		a.wait()
	}
	n.Run(n.Now() + 100*Second) // what is late comes too
	if left := binary.NativeEndian.Uint64(b.mr.Bytes()); left != rounds {
		t.Errorf("%s: the number is %d after %d additions", name, left, rounds)
	}
	for i := range rounds {
		if answer := binary.NativeEndian.Uint64(a.mr.Bytes()[8*i:]); answer != uint64(i) {
			t.Errorf("%s: addition %d answered %d", name, i, answer)
		}
	}
	received := make([]verbs.Completion, rounds+spare)
	count, err := b.cq.Poll(received)
	b.must(err)
	if count != rounds {
		t.Fatalf("%s: %d receives were taken for %d messages", name, count, rounds)
	}
	for i, c := range received[:count] {
		if c.WRID != uint64(i) || c.Bytes != size || !bytes.Equal(b.mr.Bytes()[inbox+i*size:][:size], a.mr.Bytes()[inbox+i*size:][:size]) {
			t.Errorf("%s: message %d: %+v, or wrong bytes", name, i, c)
		}
	}
	return a.qp.Stats().Retransmitted
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
