package ping

import (
	"hash/maphash"
	"net/netip"
	"time"
)

// rateLimit bounds the datagrams per second of each source, in memory that does not grow with
// the sources: they share buckets by a hash that nobody can guess.
type rateLimit struct {
	seed    maphash.Seed
	rate    float64 // per second
	buckets [rateBuckets]bucket
}

// bucket is the count of its sources: what they have of their burst is left at a time.
type bucket struct {
	used float64
	at   time.Duration
}

func newRateLimit(rate int) *rateLimit {
	return &rateLimit{seed: maphash.MakeSeed(), rate: float64(rate)}
}

// allows counts a datagram of a source and says whether it may have a reply.
func (r *rateLimit) allows(source netip.Addr, now time.Duration) bool {
	b := r.bucketOf(source)
	if now > b.at { // what came at another address may be handled after what arrived later
		b.used = max(0, b.used-r.rate*(now-b.at).Seconds())
		b.at = now
	}
	if b.used+1 > burst {
		return false
	}
	b.used++
	return true
}

func (r *rateLimit) bucketOf(source netip.Addr) *bucket {
	return &r.buckets[maphash.Comparable(r.seed, source)%rateBuckets]
}
