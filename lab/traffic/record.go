package traffic

import "time"

// BinTime is the width of a bin of a record: fine enough to see a stall of 100 ms
// and its edges.
const BinTime = 10 * time.Millisecond

// shortestStall is the shortest silence that is worth a note.
const shortestStall = 2 * time.Millisecond

// Stall is a time during which nothing arrived.
type Stall struct {
	From time.Duration `json:"from"`
	To   time.Duration `json:"to"`
}

// Record is what arrived when. Times are those of Now.
type Record struct {
	first int64 // number of the first bin: its time divided by BinTime
	bins  []uint64

	stalls   []Stall
	lastNews time.Duration // when something arrived last
}

// Add counts bytes that arrived at a time, which is not before those of earlier
// calls.
func (r *Record) Add(at time.Duration, bytes int) {
	if r.bins != nil && at-r.lastNews >= shortestStall {
		r.stalls = append(r.stalls, Stall{From: r.lastNews, To: at})
	}
	r.lastNews = at
	r.add(binOf(at), uint64(bytes))
}

// add counts bytes in a bin. Bins before the first are not possible: arrivals
// are reported in order.
func (r *Record) add(bin int64, bytes uint64) {
	if r.bins == nil {
		r.first = bin
	}
	for bin-r.first >= int64(len(r.bins)) {
		r.bins = append(r.bins, 0)
	}
	if bin >= r.first {
		r.bins[bin-r.first] += bytes
	}
}

// Bytes is what arrived in the bins that begin from one time until another.
func (r *Record) Bytes(from, to time.Duration) uint64 {
	sum := uint64(0)
	for bin := binOf(from); bin < binOf(to); bin++ {
		if i := bin - r.first; i >= 0 && i < int64(len(r.bins)) {
			sum += r.bins[i]
		}
	}
	return sum
}

// Reached is how long after a time so many bytes had arrived, to the end of the bin, or
// false if they never had.
func (r *Record) Reached(from time.Duration, bytes uint64) (time.Duration, bool) {
	sum := uint64(0)
	for i, b := range r.bins {
		if sum += b; sum >= bytes {
			return time.Duration(r.first+int64(i)+1)*BinTime - from, true
		}
	}
	return 0, false
}

// Goodput is the average between two times in b/s.
func (r *Record) Goodput(from, to time.Duration) float64 {
	bins := binOf(to) - binOf(from)
	if bins <= 0 {
		return 0
	}
	return 8 * float64(r.Bytes(from, to)) / (float64(bins) * BinTime.Seconds())
}

// LongestStall is the longest time without arrivals that began between two times.
// Silence until the end counts: whatever fails for good stalls until then.
func (r *Record) LongestStall(from, to time.Duration) time.Duration {
	longest := time.Duration(0)
	consider := func(s Stall) {
		if s.From < to && s.To > from {
			longest = max(longest, min(s.To, to)-max(s.From, from))
		}
	}
	for _, s := range r.stalls {
		consider(s)
	}
	consider(Stall{From: r.lastNews, To: to})
	return longest
}

// FirstReach is how long after from the goodput first averages at least rate over
// a window, and ok if it does so before to: the time until the window begins.
func (r *Record) FirstReach(from, to, window time.Duration, rate float64) (after time.Duration, ok bool) {
	for at := from; at+window <= to; at += BinTime {
		if r.Goodput(at, at+window) >= rate {
			return at - from, true
		}
	}
	return to - from, false
}

// binOf is the number of the bin that a time lies in.
func binOf(t time.Duration) int64 { return int64(t / BinTime) }
