package fluid

import (
	"math"
	"testing"
)

// Eq. (5), point by point.
func TestMarkingProbability(t *testing.T) {
	red, dctcp := Figure4StandardRED, Figure4DCTCP
	for _, c := range []struct {
		name    string
		marking Marking
		queue   float64
		want    float64
	}{
		{"empty", red, 0, 0},
		{"at Kmin", red, 20, 0},
		{"half way", red, 110, 0.4},
		{"at Kmax", red, 200, 0.8},
		{"beyond Kmax", red, 200.001, 1},
		{"DCTCP, at K", dctcp, 65, 0},
		{"DCTCP, beyond K", dctcp, 65.001, 1},
	} {
		if got := c.marking.Probability(c.queue); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%s: probability %v, want %v", c.name, got, c.want)
		}
	}
}

// The inverse stands at KMax for every ratio of the jump.
func TestMarkingQueueFor(t *testing.T) {
	for _, c := range []struct {
		name    string
		marking Marking
		ratio   float64
		want    float64
	}{
		{"nothing marked", Figure4StandardRED, 0, 20},
		{"on the ramp", Figure4StandardRED, 0.4, 110},
		{"end of the ramp", Figure4StandardRED, 0.8, 200},
		{"within the jump", Figure4StandardRED, 0.9, 200},
		{"DCTCP", Figure4DCTCP, 0.1, 65},
	} {
		if got := c.marking.queueFor(c.ratio); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%s: queue %v, want %v", c.name, got, c.want)
		}
	}
}
