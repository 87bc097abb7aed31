package transport

import (
	"testing"

	"github.com/braid-rdma/braid/wire"
)

// faultRow is one fault of the project's list of faults, numbered as there.
type faultRow struct {
	name string
	run  func(t *testing.T)
}

// TestFaults runs the scripted faults that concern the transport alone. Beyond
// what each row looks at, the harness checks the global promises in every step.
func TestFaults(t *testing.T) {
	var rows []faultRow
	rows = append(rows, lossRows...)
	rows = append(rows, orderRows...)
	rows = append(rows, wireRows...)
	rows = append(rows, staleRows...)
	rows = append(rows, timeRows...)
	rows = append(rows, receiverRows...)
	rows = append(rows, memoryRows...)
	rows = append(rows, pathRows...)
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			r.run(t)
		})
	}
}

// faultRTT is the round trip of scripted scenarios, without queueing.
const faultRTT = 100 * Microsecond

// bulk is a scripted scenario: WRITEs of one size from A to B over four equal
// paths of 10 Gb/s, with the wire options.
func bulk(writes, size int) *scenario {
	s := &scenario{
		seed: 1, mp: WireOptions(), paths: 4, quantum: 1, ops: [2]int{writes, 0}, size: size, plain: true,
		kinds: []Op{OpWrite}, depth: 128, signalAll: true, pace: 1, patience: 10 * Second,
	}
	s.mp.ProbeProbability = 0
	s.connect(0x1234, 0x4321)
	s.setLinks(linkSpec{delay: faultRTT / 2, nsPerByte: 0.8})
	return s
}

// connect sets the attributes of both ends.
func (s *scenario) connect(a, b wire.PSN) {
	first := [2]wire.PSN{a, b}
	for i := range s.attr {
		s.attr[i] = Attr{
			MTU: 1024, RemoteQPN: wire.QPN(0x100 + 1 - i), SendPSN: first[i], RecvPSN: first[1-i],
			Reads: 4, ReadsServed: 4, Timeout: 14, RetryCount: 7, RNRRetry: InfiniteRNRRetry, MinRNRTimer: 1,
			Paths: s.paths, TrackedSlots: s.mp.Slots,
		}
	}
}

// setLinks gives every path in both directions the same character.
func (s *scenario) setLinks(l linkSpec) {
	for side := range s.links {
		s.links[side] = make([]linkSpec, s.paths)
		for p := range s.links[side] {
			s.links[side][p] = l
		}
	}
}

// asRC turns a scenario into one of a reliable connection.
func (s *scenario) asRC() *scenario {
	s.rc, s.paths = true, 1
	for side := range s.links {
		s.links[side] = s.links[side][:1]
	}
	return s
}

// asPaper turns a scenario into one with the paper's options.
func (s *scenario) asPaper() *scenario {
	s.mp = PaperOptions()
	for i := range s.attr {
		s.attr[i].TrackedSlots = s.mp.Slots
	}
	return s
}

// elapsed is the virtual time that a finished run took.
func (w *world) elapsed() Time { return w.now - Second }

// watchStalls notes the longest time in which nothing new reached B.
func watchStalls(w *world) *Time {
	longest, last, seen := new(Time), w.now, uint64(0)
	w.onStep = func(w *world) {
		if n := w.hosts[1].qp.Counters().BytesReceived; n != seen {
			seen, last = n, w.now
		}
		*longest = max(*longest, w.now-last)
	}
	return longest
}
