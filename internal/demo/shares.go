package demo

import "time"

const (
	// sampleInterval is the time between two looks at the paths.
	sampleInterval = 5 * time.Millisecond
	// shareWindow is the time over which a path's share is taken: at several
	// Gb/s some thousand packets, enough that chance does not matter.
	shareWindow = 10 * time.Millisecond
	// wantedShare is the part of an equal share from which on a path counts as
	// carrying its share.
	wantedShare = 0.5
)

// sample is what each path had delivered at one moment, in packets known to
// have arrived: what was sent into a cut path does not count.
type sample struct {
	at        time.Time
	delivered []uint64
}

// regained returns how long after the restoration a path carried its share
// again: the end of the first window, wholly after it, in which it did.
func regained(samples []sample, path int, restored time.Time) (time.Duration, bool) {
	first := 0
	for last := range samples {
		for samples[first].at.Before(restored) {
			if first == last {
				break
			}
			first++
		}
		// The shortest window that is long enough ends here.
		for first+1 < last && samples[last].at.Sub(samples[first+1].at) >= shareWindow {
			first++
		}
		from, to := &samples[first], &samples[last]
		if from.at.Before(restored) || to.at.Sub(from.at) < shareWindow {
			continue
		}
		if share(from, to, path) >= wantedShare {
			return to.at.Sub(restored), true
		}
	}
	return 0, false
}

// share is what a path delivered between two samples, in equal shares: 1 is
// its fair part, and the number of paths everything.
func share(from, to *sample, path int) float64 {
	var total uint64
	for i := range to.delivered {
		total += to.delivered[i] - from.delivered[i]
	}
	if total == 0 {
		return 0
	}
	return float64(to.delivered[path]-from.delivered[path]) * float64(len(to.delivered)) / float64(total)
}
