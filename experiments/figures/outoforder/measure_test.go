package outoforder

import "testing"

// §5.2.1's 5324 is of the size that a queue of 240 KB would give, not one of 20 KB.
func TestFairDegree(t *testing.T) {
	if got := FairDegree(MisconfiguredThreshold); got < PublishedDegraded*0.65 || got > PublishedDegraded {
		t.Errorf("240 KB: %v, published %d", got, PublishedDegraded)
	}
	if got := FairDegree(20_000); got > 500 {
		t.Errorf("20 KB: %v", got)
	}
}
