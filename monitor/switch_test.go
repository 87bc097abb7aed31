package monitor

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestSwitchesSince checks that ports are told of by what they counted meanwhile, and not when they were started anew.
func TestSwitchesSince(t *testing.T) {
	var s switches
	first := []SwitchPort{{Switch: "s0", Port: "1", Packets: 10, Dropped: 1}, {Switch: "s1", Port: "1", Packets: 50}}
	if got := s.since(first); len(got) != 0 {
		t.Errorf("at first %+v", got)
	}
	got := s.since([]SwitchPort{{Switch: "s0", Port: "1", Packets: 30, Dropped: 2}, {Switch: "s1", Port: "1", Packets: 3}, {Switch: "s2", Port: "1", Packets: 9}})
	if want := []SwitchPort{{Switch: "s0", Port: "1", Packets: 20, Dropped: 1}}; !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestSwitchThatDrops checks that a path's alarm names the port that drops most, and that counters alone raise none.
func TestSwitchThatDrops(t *testing.T) {
	for _, fails := range []bool{false, true} {
		w := newWorld(8, 8)
		if fails {
			w.spineLoss[2] = 0.3
		}
		windows := w.windows()
		windows[3].Switches = []SwitchPort{{Switch: "s2", Port: "4", Packets: 1000, Dropped: 300}, {Switch: "s1", Port: "4", Packets: 1000, Dropped: 1}}
		j := NewJudge(Limits{})
		var alarms []Alarm
		for i := range 2 {
			alarms = j.Judge(noon.Add(time.Duration(i)*time.Minute), w.hosts, windows)
		}
		if !fails && len(alarms) != 0 {
			t.Errorf("nothing is lost, and %+v", alarms)
		}
		if fails && (len(alarms) != 1 || !strings.Contains(alarms[0].Says, "Switch s2 dropped 300 of 1000 packets (port 4).")) {
			t.Errorf("%+v", alarms)
		}
	}
}
