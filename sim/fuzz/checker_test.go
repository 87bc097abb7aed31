package fuzz

import (
	"testing"

	"github.com/braid-rdma/braid/sim"
	"github.com/braid-rdma/braid/sim/topology"
	"github.com/braid-rdma/braid/verbs"
)

// The worlds of these tests are written down, not drawn: nothing is wrong in them, and
// the checker once said so all the same.

// pair is a world of two hosts, 0 and 1, without talks.
func pair() *scenario {
	const rate = 10 * topology.Gbps
	return &scenario{
		seed:   1,
		fabric: topology.ParallelPaths{Senders: 1, HostRate: rate, HostDelay: int64(sim.Microsecond), PathDelay: int64(sim.Microsecond), Rates: []int64{rate}},
		config: sim.Config{Seed: 1, MTU: 1024, Paths: 1, Verify: true},
	}
}

// TestCopiesTakeReceives: each datagram arrives twice, so that the first half of them
// takes all receives, and the others find none. They are not missing.
func TestCopiesTakeReceives(t *testing.T) {
	const datagrams = 8
	sc := pair()
	chat := chatSpec{hosts: [2]int{0, 1}, depth: datagrams, key: 7, start: sim.Microsecond, lately: 10 * sim.Millisecond}
	for i := range datagrams {
		chat.ends[0].ops = append(chat.ends[0].ops, opSpec{kind: verbs.OpSendImm, length: 100, imm: uint32(i)})
	}
	chat.ends[1].receive = datagrams
	sc.chats = []chatSpec{chat}
	sc.faults = []faultSpec{{from: 1, until: sim.Millisecond, link: "path1", direction: sim.Forth, impairment: sim.Impairment{Duplicate: 1}}}
	var w *world
	if f := run(sc, func(built *world) { w = built }); f != nil {
		t.Fatal(f)
	}
	receiver := w.chats[0].ends[1]
	for i := range datagrams {
		times, starved := 2, false
		if i >= datagrams/2 {
			times, starved = 0, true
		}
		if receiver.arrived[i] != times || receiver.starved[i] != starved {
			t.Errorf("datagram %d came %d times, and found no receive: %v; want %d, %v", i, receiver.arrived[i], receiver.starved[i], times, starved)
		}
	}
}

// TestProgramPollsLate: a SEND to a shared receive queue and the synchronise WRITE
// behind it arrive before the receiver's program polls. The SEND comes first all the
// same.
func TestProgramPollsLate(t *testing.T) {
	sc := pair()
	talk := talkSpec{
		hosts: [2]int{1, 0}, start: sim.Microsecond, shared: true, // drain polls host 0, the receiver, first
		qp: verbs.QPOptions{
			Type: verbs.MP, SendDepth: 4, MP: verbs.PaperOptions(),
			Conn: verbs.ConnOptions{Reads: 1, AckTimeout: verbs.AckTimeoutOf(12), MinRNRTimer: verbs.RNRTimerOf(1)},
		},
	}
	talk.ends[0].ops = []opSpec{
		{kind: verbs.OpSendInv, length: 3000},
		{kind: verbs.OpWrite, length: 2000, flags: verbs.Synchronise},
	}
	talk.ends[1].receive = 1
	sc.talks = []talkSpec{talk}

	w := newWorld(sc)
	defer func() {
		switch r := recover().(type) {
		case nil:
		case promiseBroken:
			t.Error(r.message)
		default:
			panic(r)
		}
	}()
	if err := w.build(); err != nil {
		t.Fatal(err)
	}
	w.net.Run(10 * sim.Millisecond) // no drain between the events
	if placed := w.talks[0].ends[0].ops[1].placed; placed != 2000 {
		t.Fatalf("%d bytes of the WRITE are placed before the program polls, want 2000", placed)
	}
	w.drain()
	if !w.finished() {
		t.Errorf("unfinished: %s", w.unfinished())
	}
	w.checkEnd()
}
