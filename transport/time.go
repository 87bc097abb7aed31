package transport

import "math"

// Time is a monotonic instant in nanoseconds. Its origin is the engine's
// business; only differences matter. Zero means "not armed" in a timer table,
// so an engine starts its clock above zero.
type Time int64

// Durations in the unit of Time.
const (
	Nanosecond  Time = 1
	Microsecond      = 1000 * Nanosecond
	Millisecond      = 1000 * Microsecond
	Second           = 1000 * Millisecond
)

// Never is later than every instant: what Timeout returns when nothing is armed.
const Never Time = math.MaxInt64

// stamp is the low half of an instant, as it travels in the MP headers. Round
// trips are far shorter than the 4.29 s after which it wraps.
func (t Time) stamp() uint32 { return uint32(t) }

// sinceStamp is the time that has passed at t since an earlier stamp.
func (t Time) sinceStamp(s uint32) Time { return Time(uint32(t) - s) }

// timers is a table of deadlines; zero means not armed.
type timers[K ~uint8] struct {
	deadline [maxTimers]Time
}

// maxTimers bounds the timer kinds of any one queue pair type.
const maxTimers = 9

func (t *timers[K]) arm(k K, at Time)    { t.deadline[k] = at }
func (t *timers[K]) disarm(k K)          { t.deadline[k] = 0 }
func (t *timers[K]) armed(k K) bool      { return t.deadline[k] != 0 }
func (t *timers[K]) disarmAll()          { t.deadline = [maxTimers]Time{} }
func (t *timers[K]) deadlineOf(k K) Time { return t.deadline[k] }

// expired says whether timer k is due at now, and disarms it if so.
func (t *timers[K]) expired(k K, now Time) bool {
	if d := t.deadline[k]; d == 0 || d > now {
		return false
	}
	t.deadline[k] = 0
	return true
}

// next is the earliest deadline, or Never.
func (t *timers[K]) next() Time {
	n := uint64(Never) - 1
	for _, d := range t.deadline {
		n = min(n, uint64(d)-1) // a disarmed one is beyond Never
	}
	return Time(n + 1)
}
