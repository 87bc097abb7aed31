package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/braid-rdma/braid/verbs"
)

// rateInterval is the time between two PathRates events.
const rateInterval = 100 * time.Millisecond

// stream is the continuous stream of WRITEs.
type stream struct {
	*requester
	start                       time.Time
	posted, completed, credited uint64
	wr                          verbs.SendWR

	stalls   stallClock
	schedule schedule
	paths    pathRecord
}

// showStream runs the stream through its three stages and compares everything.
func (r *requester) showStream(ctx context.Context) error {
	if err := r.Send(ctx, askStream, nil); err != nil {
		return err
	}
	if err := r.Receive(ctx, tellReady, new(any)); err != nil {
		return err
	}
	s := &stream{requester: r, start: time.Now()}
	s.wr = verbs.SendWR{Op: verbs.OpWriteImm, Flags: verbs.Signaled, RKey: r.data.RKey, SGEs: r.slotOf(r.source, 0)}
	s.paths.begin(s.start, r.qp.PathStats())
	s.stalls.begin(s.start)
	r.announcer.tell(Event{Kind: StreamBegan})
	// The fault must not outlive the stream, on whatever way it ends.
	defer r.faults.Restore(r.config.CutPath)
	if err := s.run(ctx); err != nil {
		return err
	}
	s.conclude(time.Now())
	return s.verify(ctx)
}

// run keeps the stream going until it is over and everything has completed.
func (s *stream) run(ctx context.Context) error {
	for now := s.start; ; now = time.Now() {
		s.advance(now)
		if s.schedule.stage == stageOver && s.posted == s.completed {
			return nil
		}
		if err := s.post(); err != nil {
			return err
		}
		done, err := s.poll(ctx)
		if err != nil {
			return err
		}
		if len(done) > 0 {
			s.completed += uint64(len(done))
			s.stalls.completed(time.Now())
		}
		if s.credited, err = s.credit.LoadUint64(0); err != nil {
			return err
		}
	}
}

// post posts chunks for as long as queue and credit allow.
func (s *stream) post() error {
	if s.schedule.stage == stageOver {
		return nil
	}
	depth, slots := uint64(s.config.depth()), uint64(s.config.slots())
	for s.posted-s.completed < depth && s.posted-s.credited < slots {
		offset := uint64(s.offset(s.posted))
		s.wr.SGEs[0].Offset = offset
		s.wr.RemoteAddr = s.data.Addr + offset
		s.wr.Imm = stamp(chunk(s.source.Bytes(), s.posted), s.posted)
		if err := s.qp.PostSend(&s.wr); err != nil {
			return err
		}
		s.posted++
	}
	return nil
}

// verify asks the responder for its verdict and compares the whole region.
func (s *stream) verify(ctx context.Context) error {
	if err := s.Send(ctx, askVerdict, s.posted); err != nil {
		return err
	}
	var v verdict
	if err := s.Receive(ctx, tellVerdict, &v); err != nil {
		return err
	}
	same, err := s.sameDigest(ctx)
	if err != nil {
		return err
	}
	right := same && v.Mismatches == 0 && v.Checked == s.posted
	s.checked(OperationDone{Op: "stream", Count: s.posted, Bytes: s.posted * chunkSize, Verified: right},
		fmt.Sprintf("stream: %d chunks sent, %d received, %d of them wrong; region equal at the end: %v",
			s.posted, v.Checked, v.Mismatches, same))
	return nil
}
