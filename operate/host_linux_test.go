package operate

import "testing"

// TestHostTimesThatDecrease checks that the shares of a machine stay shares where the kernel takes waiting time back (proc(5), iowait).
func TestHostTimesThatDecrease(t *testing.T) {
	for _, test := range []struct {
		name         string
		then, now    hostTimes
		busy, stolen float64
	}{
		{"half", hostTimes{all: 100, idle: 50, stolen: 10}, hostTimes{all: 200, idle: 100, stolen: 30}, 0.5, 0.2},
		{"no time", hostTimes{all: 100, idle: 50}, hostTimes{all: 100, idle: 50}, 1, 0},
		{"less idle", hostTimes{all: 100, idle: 50}, hostTimes{all: 110, idle: 49}, 1, 0},
		{"less at all", hostTimes{all: 100, idle: 50}, hostTimes{all: 99, idle: 49}, 1, 0},
		{"more idle than all", hostTimes{all: 100, idle: 50}, hostTimes{all: 102, idle: 54}, 0, 0},
	} {
		if h := test.then.until(test.now); h.Busy != test.busy || h.Stolen != test.stolen {
			t.Errorf("%s: busy %v, stolen %v, want %v and %v", test.name, h.Busy, h.Stolen, test.busy, test.stolen)
		}
	}
}
