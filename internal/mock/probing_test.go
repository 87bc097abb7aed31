package mock

import (
	"testing"
	"time"
)

// UDP that fails soon after a return is tried later each time; one failure a while ago is forgotten.
func TestProbingPauses(t *testing.T) {
	now, patience := time.Duration(0), 4*time.Second
	p := probing{back: Never}
	for _, want := range []time.Duration{firstProbe, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, longestFirst, longestFirst} {
		now += time.Second
		if p.failed(now, patience); p.first != want {
			t.Errorf("the first probe after %v, want %v", p.first, want)
		}
		now += p.first
		p.back = now
	}
	if p.failed(now+calm+1, patience); p.first != firstProbe {
		t.Errorf("after a calm time: %v", p.first)
	}
}
