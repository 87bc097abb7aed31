package ping

import (
	"fmt"
	"testing"
	"time"
)

// stamped is a round trip of which each part is known, in microseconds. The responder's clock is
// another one.
func stamped(prober, network, responder time.Duration) Stamps {
	const us = time.Microsecond
	prober, network, responder = prober*us, network*us, responder*us
	t1 := 1000 * us
	t2 := t1 + prober/2
	t3 := 77777 * us
	t4 := t3 + responder
	t5 := t2 + network + responder
	return Stamps{t1, t2, t3, t4, t5, t5 + prober/2}
}

func TestStamps(t *testing.T) {
	s := stamped(4, 30, 6)
	if s.RTT() != 40*time.Microsecond || s.Prober() != 4*time.Microsecond || s.Network() != 30*time.Microsecond || s.Responder() != 6*time.Microsecond {
		t.Errorf("rtt %v: prober %v, network %v, responder %v", s.RTT(), s.Prober(), s.Network(), s.Responder())
	}
	write := Stamps{0: 10, 1: 12, 4: 30, 5: 33}
	if write.RTT() != 23 || write.Network() != 18 || write.Prober() != 5 || write.Responder() != 0 {
		t.Errorf("a WRITE: %v, %v, %v, %v", write.RTT(), write.Network(), write.Prober(), write.Responder())
	}
}

func TestSummary(t *testing.T) {
	for tail, slow := range map[Part]Stamps{
		PartNetwork:   stamped(4, 900, 6),
		PartProber:    stamped(900, 30, 6),
		PartResponder: stamped(4, 30, 900),
	} {
		var s Summary
		for i := range 99 {
			s.Add(&Result{Probe: Probe{UD, 3, 64}, Stamps: stamped(4, 30+time.Duration(i%2), 6), Port: 50003})
		}
		s.Add(&Result{Probe: Probe{UD, 3, 64}, Stamps: slow})
		s.Add(&Result{Probe: Probe{UD, 3, 64}, Err: ErrLost})
		s.Add(&Result{Probe: Probe{RC, 1, 64}, Stamps: slow, Retransmitted: 2})
		s.Add(&Result{Probe: Probe{UD, 1, 64}, Err: ErrLost})
		s.Add(&Result{Probe: Probe{UD, 1, 64}, Err: fmt.Errorf("%w: it is", ErrBusy)})
		all := s.Paths()
		if len(all) != 3 || all[0].Path != 1 || all[1].Path != 3 || all[2].By != RC {
			t.Fatalf("%+v", all)
		}
		p := all[1]
		if p.Tail != tail {
			t.Errorf("the tail is said to be in %q, want %q", p.Tail, tail)
		}
		if p.Sent != 101 || p.Received != 100 || p.Port != 50003 || p.LastError != ErrLost.Error() || p.Loss <= 0.009 || p.Loss >= 0.011 {
			t.Errorf("%+v", p)
		}
		if p.RTT.Min != 40 || p.RTT.Max != micros(slow.RTT()) || p.RTT.P99 != 41 || p.RTT.Avg <= 40 || p.RTT.Avg >= 60 {
			t.Errorf("rtt %+v", p.RTT)
		}
		if all[0].Loss != 1 || all[0].Sent != 1 || all[0].Skipped != 1 || p.Skipped != 0 || all[2].Tail != "" || all[2].Retransmitted != 2 {
			t.Errorf("%+v, %+v", all[0], all[2])
		}
		if sent, received := s.Total(); sent != 103 || received != 101 {
			t.Errorf("%d of %d", received, sent)
		}
	}
}

// TestSummaryForgets: percentiles are of the latest replies, and the extremes of all.
func TestSummaryForgets(t *testing.T) {
	var s Summary
	add := func(n int, network time.Duration) {
		for range n {
			s.Add(&Result{Probe: Probe{UD, 0, 64}, Stamps: stamped(0, network, 0)})
		}
	}
	add(sampleWindow, 500)
	add(sampleWindow, 20)
	if rtt := s.Paths()[0].RTT; rtt.P99 != 20 || rtt.Max != 500 || rtt.Min != 20 || rtt.Avg != 260 {
		t.Errorf("%+v", rtt)
	}
}

// TestScheduleCoversAll: every path has every kind and size.
func TestScheduleCoversAll(t *testing.T) {
	s := Schedule{By: Kinds, Paths: []int{0, 1, 2, 5}, Sizes: []int{64, 1024}}
	seen := map[Probe]int{}
	for n := range uint64(len(s.By) * len(s.Paths) * len(s.Sizes)) {
		seen[s.probe(n)]++
	}
	for _, by := range []By{UD, RC} {
		for _, path := range s.Paths {
			for _, size := range s.Sizes {
				if seen[Probe{by, path, size}] != 1 {
					t.Errorf("%s on path %d with %d bytes: %d times", by, path, size, seen[Probe{by, path, size}])
				}
			}
		}
	}
	if seen[Probe{MP, AnyPath, 64}] != 4 || seen[Probe{MP, AnyPath, 1024}] != 4 {
		t.Errorf("%v", seen)
	}
}
