package demo

import "time"

// conclude fills in the report.
func (s *stream) conclude(now time.Time) {
	sch, r := &s.schedule, s.report
	elapsed := now.Sub(s.start)
	r.GoodputGbps = gbps(float64(s.completed*chunkSize), elapsed)
	r.Stream = StreamReport{
		DurationMillis: millis(elapsed), Chunks: s.completed,
		BeforeGbps:         gbps(float64(sch.atCut*chunkSize), sch.cutAt.Sub(s.start)),
		CutGbps:            gbps(float64((sch.atHeal-sch.atCut)*chunkSize), sch.healed.Sub(sch.cutAt)),
		RestoredGbps:       gbps(float64((s.completed-sch.atHeal)*chunkSize), now.Sub(sch.healed)),
		LongestPauseMillis: millis(sch.pause),
	}
	r.Cut = CutReport{
		Path: s.config.CutPath, AtMillis: millis(sch.cutAt.Sub(s.start)), LongestStallMillis: millis(sch.stall),
	}
	r.Restored = RestoredReport{Path: s.config.CutPath, AtMillis: millis(sch.healed.Sub(s.start))}
	if sch.regained {
		after := millis(sch.regainedAfter)
		r.Restored.Millis = &after
	}
	last := s.qp.PathStats()
	for i := range last {
		r.Paths = append(r.Paths, PathReport{
			Path: i, Packets: last[i].Sent - s.paths.first[i].Sent, Bytes: last[i].Bytes - s.paths.first[i].Bytes,
			Acknowledged: last[i].Acknowledged - s.paths.first[i].Acknowledged,
			Lost:         last[i].Lost - s.paths.first[i].Lost,
			BeforeGbps:   pathRate(&s.paths.first[i], &sch.cutPaths[i], sch.cutAt.Sub(s.start)),
			CutGbps:      pathRate(&sch.cutPaths[i], &sch.heal[i], sch.healed.Sub(sch.cutAt)),
			RestoredGbps: pathRate(&sch.heal[i], &last[i], now.Sub(sch.healed)),
		})
	}
}
