package traffic

import "time"

// pacer says when the next message may go (Spec.Interval).
type pacer struct {
	began    time.Duration
	interval time.Duration
}

func newPacer(s *Spec) pacer { return pacer{Now(), s.Interval} }

func (p pacer) next(posted uint64) time.Duration {
	return p.began + time.Duration(posted)*p.interval
}

func (p pacer) due(posted uint64) bool { return p.interval == 0 || Now() >= p.next(posted) }

// await waits until the next message is due, or for the end.
func (p pacer) await(posted uint64, stop <-chan struct{}) {
	select {
	case <-time.After(p.next(posted) - Now()):
	case <-stop:
	}
}
