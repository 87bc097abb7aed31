package demo

import (
	"time"

	"github.com/braid-rdma/braid/verbs"
)

// stage is what the stream is going through.
type stage uint8

const (
	stageWhole    stage = iota // all paths work
	stageCut                   // one path fails
	stageRestored              // it works again
	stageOver                  // nothing more is posted
)

// schedule is when each stage began, and what each came to.
type schedule struct {
	stage          stage
	cutAt, healed  time.Time
	pause, stall   time.Duration // the longest between two completions, of the first two stages
	regained       bool
	regainedAfter  time.Duration
	examined       int    // samples that were looked at for it
	atCut, atHeal  uint64 // chunks completed by then
	cutPaths, heal []verbs.PathStats
}

// advance moves the stream to the next stage when its time has come, and looks
// at the paths now and then.
func (s *stream) advance(now time.Time) {
	s.paths.look(s, now)
	since, third := now.Sub(s.start), s.config.Duration/3
	sch := &s.schedule
	path := s.config.CutPath
	switch sch.stage {
	case stageWhole:
		if since < third {
			return
		}
		sch.pause = s.stalls.end(now)
		sch.cutAt, sch.atCut, sch.cutPaths = now, s.completed, s.qp.PathStats()
		s.faults.Cut(path)
		s.announcer.tell(Event{Kind: PathCut, Since: since, Path: path})
	case stageCut:
		if since < 2*third {
			return
		}
		sch.stall = s.stalls.end(now)
		sch.healed, sch.atHeal, sch.heal = now, s.completed, s.qp.PathStats()
		s.faults.Restore(path)
		s.paths.keep = true
		s.announcer.tell(Event{Kind: PathRestored, Since: since, Path: path})
	case stageRestored:
		s.lookForShare(since)
		if since < s.config.Duration || !sch.regained && since < s.config.Duration+graceForShare {
			return
		}
	case stageOver:
		return
	}
	sch.stage++
	s.stalls.begin(now)
}

// lookForShare finds out, after each further sample, whether the restored path
// carries its share again.
func (s *stream) lookForShare(since time.Duration) {
	sch := &s.schedule
	if sch.regained || len(s.paths.samples) == sch.examined {
		return
	}
	sch.examined = len(s.paths.samples)
	sch.regainedAfter, sch.regained = regained(s.paths.samples, s.config.CutPath, sch.healed)
	if sch.regained {
		s.paths.keep = false
		s.announcer.tell(Event{Kind: PathRegained, Since: since, Path: s.config.CutPath})
	}
}
