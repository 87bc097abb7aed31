package operate

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"
)

// sender is a queue pair that sends 100 packets by each of four paths in a second, and waits for one reason.
func sender(reason string) QueuePair {
	q := QueuePair{
		Number: 0x1234, Type: "MP", State: "RTS", Peer: netip.MustParseAddr("10.0.0.2"), Reasons: map[string]int{reason: 900, "none": 100},
		Counters: map[string]uint64{"tx_packets": 400, "tx_bytes": 400 << 10, "rx_acks": 100}, Window: 20, MTU: 1024, Reads: 16, RTT: time.Millisecond,
	}
	for i := range 4 {
		q.Paths = append(q.Paths, Path{Index: i, Sent: 100, Acknowledged: 100, Bytes: 100 << 10, RTT: time.Millisecond})
	}
	return q
}

// manyPaths has losses on 128 virtual paths.
func manyPaths(lost func(i int) uint64) QueuePair {
	q := sender("window-full")
	q.Paths = nil
	for i := range 128 {
		q.Paths = append(q.Paths, Path{Index: i, Sent: 100, Acknowledged: 95, Lost: lost(i), RTT: time.Millisecond})
	}
	return q
}

// with is a copy of a queue pair with a change.
func (q QueuePair) with(change func(*QueuePair)) QueuePair {
	change(&q)
	return q
}

// TestExplain has evidence for each cause, and what must be said first. Other evidence is as of a
// transfer that is well.
func TestExplain(t *testing.T) {
	channel := func(c Channel) QueuePair {
		return sender("no-work").with(func(q *QueuePair) { q.Reasons, q.Channel = map[string]int{"no-work": 1000}, &c })
	}
	for _, test := range []struct {
		want Cause
		says string // a part of it
		pair QueuePair
	}{
		{CauseClosed, "failed", sender("closed").with(func(q *QueuePair) { q.State = "ERR" })},
		{CauseUnreachable, "10.0.0.2", sender("window-full").with(func(q *QueuePair) {
			q.Counters = map[string]uint64{"tx_packets": 12, "local_ack_timeout_err": 3}
		})},
		{CauseOnTCP, "UDP does not reach", channel(Channel{OnTCP: true})},
		{CauseOnTCP, "told to", channel(Channel{OnTCP: true, OnCommand: true})},
		{CausePeerReceives, "90 %", sender("rnr-wait")},
		{CausePeerBuffer, "90 %", sender("peer-window-full")},
		{CauseSpan, "track", sender("receiver-span-full")},
		{CauseSlowPath, "path 2", sender("receiver-span-full").with(func(q *QueuePair) { q.Paths[2].RTT = 9 * time.Millisecond })},
		{CauseLate, "taken for lost", sender("window-full").with(func(q *QueuePair) {
			q.Paths[1].Lost, q.Counters["mp_spurious_retransmits"] = 40, 40
		})},
		{CauseLoss, "loss on path 1)", sender("window-full").with(func(q *QueuePair) { q.Paths[1].Lost = 40 })},
		{CauseLoss, "10 % of the packets, which", sender("window-full").with(func(q *QueuePair) {
			for i := range q.Paths {
				q.Paths[i].Lost = 10
			}
		})},
		{CauseCongestion, "(on path 3)", sender("ack-clock").with(func(q *QueuePair) { q.Paths[3].Marked = 50 })},
		{CauseLoss, "path 0, 4, 8, 12, 16, 20 and 26 more)", manyPaths(func(i int) uint64 { return uint64(5 * (1 - min(1, i%4))) })},
		{CauseLoss, "packets, which", manyPaths(func(i int) uint64 { return uint64(1 + i*7%4) })}, // by chance
		{CauseCongestion, "marks:", sender("ack-clock").with(func(q *QueuePair) {
			for i := range q.Paths {
				q.Paths[i].Marked = 50
			}
		})},
		{CauseNetwork, "without marks or loss", sender("window-full")},
		{CausePacing, "notices", sender("pacing")},
		{CauseInitiatorDepth, "(16)", sender("initiator-depth")},
		{CauseFence, "Fenced", sender("fence")},
		{CauseSynchronise, "Synchronise", sender("synchronise")},
		{CauseFailing, "must fail", sender("failure-in-order")},
		{CauseProcessor, "processor", sender("none")},
		{CauseIdle, "nothing to send", sender("no-work")},
		{CauseSender, "at the sender", sender("no-work").with(func(q *QueuePair) { q.Counters["rx_bytes"] = 1 << 30 })},
		{CausePathsRetired, "2 of 4 paths", sender("no-work").with(func(q *QueuePair) {
			q.Reasons = map[string]int{"window-full": 4, "no-work": 40, "none": 56}
			q.Paths[0].Retired, q.Paths[3].Retired = true, true
			q.Reasons = map[string]int{"none": 45, "no-work": 45, "window-full": 10}
		})},
		{CausePeerProgram, "80 %", channel(Channel{WindowClosed: 0.8, OpenCalls: 1})},
		{CauseCallLimit, "calls", channel(Channel{CallsFull: 0.7, OpenCalls: 1})},
		{CauseOwnHandlers, "handlers", channel(Channel{HandlersFull: 0.9, Unread: 1})},
		{CauseOwnProgram, "does not take", channel(Channel{Unread: 0.9})},
		{CausePeerHandlers, "responses", channel(Channel{OpenCalls: 0.9})},
		{CauseIdle, "nothing to send", channel(Channel{OpenCalls: 0.2})},
	} {
		e := &Evidence{Took: time.Second, Samples: 1000, QueuePairs: []QueuePair{test.pair}}
		found := e.Explain()
		if len(found) == 0 || found[0].Cause != test.want || !strings.Contains(found[0].Says, test.says) {
			t.Errorf("%s (%s): %+v", test.want, test.says, found)
		}
		for _, f := range found {
			if f.Advice == "" || f.QueuePair != 0x1234 || f.Share < worthTelling || f.Share > 1 {
				t.Errorf("%s: %+v", test.want, f)
			}
		}
	}
}

// TestExplainProgram has evidence that concerns all queue pairs.
func TestExplainProgram(t *testing.T) {
	for _, test := range []struct {
		want     Cause
		evidence Evidence
	}{
		{CauseHostBusy, Evidence{Host: Host{Processors: 2, Busy: 0.99, Delayed: 500 * time.Millisecond}}},
		{CauseHypervisor, Evidence{Host: Host{Processors: 2, Stolen: 0.3}}},
		{CausePolls, Evidence{Context: &Context{LongestPoll: 40 * time.Millisecond, PollPlace: "main.handle"}}},
		{CauseMemory, Evidence{Context: &Context{MemoryFull: 0.4}}},
		{CauseReceiveBuffer, Evidence{Device: map[string]uint64{"socket_overflow": 7, "packets_received": 100}}},
		{CauseSendBuffer, Evidence{Device: map[string]uint64{"backpressure": 7}}},
		{CauseDamage, Evidence{Device: map[string]uint64{"bad_icrc": 1, "packets_received": 100}}},
		{CauseFlood, Evidence{Device: map[string]uint64{"flood_dropped": 1000, "packets_received": 100}}},
	} {
		test.evidence.Took = time.Second
		found := test.evidence.Explain()
		if len(found) != 1 || found[0].Cause != test.want || found[0].Share <= 0 || found[0].Share > 1 || found[0].Advice == "" {
			t.Errorf("%s: %+v", test.want, found)
		}
	}
	// A machine that is busy with other things while the program gets its processors is none of this.
	well := Evidence{Took: time.Second, Host: Host{Processors: 2, Busy: 1, Delayed: 20 * time.Millisecond}, Context: &Context{LongestPoll: time.Millisecond}}
	if found := well.Explain(); len(found) != 0 {
		t.Errorf("%+v", found)
	}
}

// TestExplainOrder checks that of two causes the one that weighs more comes first, and a small one is not told.
func TestExplainOrder(t *testing.T) {
	q := sender("none")
	q.Reasons = map[string]int{"rnr-wait": 300, "window-full": 660, "fence": 40}
	e := &Evidence{Took: time.Second, QueuePairs: []QueuePair{q}}
	var causes []Cause
	for _, f := range e.Explain() {
		causes = append(causes, f.Cause)
	}
	if !slices.Equal(causes, []Cause{CauseNetwork, CausePeerReceives}) {
		t.Errorf("%v", causes)
	}
}
