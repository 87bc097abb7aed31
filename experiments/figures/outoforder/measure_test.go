package outoforder

import (
	"math"
	"testing"
)

// §5.2.1's 5324 is what a queue of 240 KB would give, not one of 20 KB.
func TestFairDegree(t *testing.T) {
	if got := FairDegree(MisconfiguredThreshold); math.Abs(got/PublishedDegraded-1) > 0.05 {
		t.Errorf("240 KB: %v, want about %d", got, PublishedDegraded)
	}
	if got := FairDegree(20_000); got > 500 {
		t.Errorf("20 KB: %v", got)
	}
}
