package lab

import (
	"testing"
	"time"
)

// TestQueueMarksFromItsThreshold sends a burst that is longer than the token
// bucket: its end waits, and is marked if the threshold is below that wait.
func TestQueueMarksFromItsThreshold(t *testing.T) {
	const count, size = 300, 8000 // 2.4 MB at 100 Mb/s: 190 ms, of which the bucket takes 21
	n := up(t, Options{HostsPerLeaf: 1, Spines: 1, Rate: 100e6, Delay: 400 * time.Millisecond, Threshold: 50 * time.Millisecond})
	marks := func() uint64 {
		s, err := n.Status()
		if err != nil {
			t.Fatal(err)
		}
		return s.Paths[0].Forward.Marked
	}
	began := time.Now()
	if arrived := arrive(t, n, "h0", "h1", 0, count, size); arrived != count {
		t.Errorf("%d of %d arrived", arrived, count)
	}
	if took := time.Since(began); took < 150*time.Millisecond {
		t.Errorf("the burst took %v, faster than the rate", took)
	}
	// Marked is what waits for more than 50 ms: all but some 110 packets.
	if marked := marks(); marked < 100 || marked > 250 {
		t.Errorf("%d of %d were marked", marked, count)
	}
	if err := n.SetThreshold(0, NoMarks); err != nil {
		t.Fatal(err)
	}
	before := marks()
	arrive(t, n, "h0", "h1", 0, count, size)
	if after := marks(); after != before {
		t.Errorf("%d were marked without a threshold", after-before)
	}
}

func TestFullQueueDrops(t *testing.T) {
	n := up(t, Options{HostsPerLeaf: 1, Spines: 1, Rate: 100e6, Delay: 10 * time.Millisecond})
	arrived := arrive(t, n, "h0", "h1", 0, 300, 8000)
	s, err := n.Status()
	if err != nil {
		t.Fatal(err)
	}
	if dropped := s.Paths[0].Forward.Dropped; dropped == 0 || int(dropped)+arrived != 300 {
		t.Errorf("%d arrived, %d dropped of 300", arrived, dropped)
	}
}

func TestRateChanges(t *testing.T) {
	n := up(t, Options{HostsPerLeaf: 1, Spines: 1, Delay: time.Second})
	if err := n.SetRate(0, 50e6); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	arrived := arrive(t, n, "h0", "h1", 0, 200, 8000) // 1.6 MB, less the bucket: 215 ms
	if took := time.Since(began); arrived != 200 || took < 180*time.Millisecond || took > 700*time.Millisecond {
		t.Errorf("%d of 200 arrived in %v", arrived, took)
	}
	if s, err := n.Status(); err != nil || s.Paths[0].Rate != 50e6 {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestSpinesHaveQueuesOfTheirOwn lets two leaves send to a third over one spine,
// whose port there is the bottleneck.
func TestSpinesHaveQueuesOfTheirOwn(t *testing.T) {
	n := up(t, Options{Leaves: 3, HostsPerLeaf: 1, Spines: 1, Rate: 100e6, Delay: 100 * time.Millisecond})
	began := time.Now()
	// Each is less than what its leaf's bucket lets through at once.
	for _, from := range []string{"h0", "h1"} {
		if arrived := arrive(t, n, from, "h2", 0, 30, 8000); arrived != 30 {
			t.Errorf("%d of 30 from %s arrived", arrived, from)
		}
	}
	if took := time.Since(began); took < 10*time.Millisecond {
		t.Errorf("480 kB took %v, faster than the spine's rate", took)
	}
}
