package demo

import (
	"context"
	"encoding/binary"
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
		completions, err := s.poll(ctx)
		if err != nil {
			return err
		}
		if err := s.take(completions); err != nil {
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
		offset := s.offset(s.posted)
		s.wr.SGEs[0].Offset = offset
		s.wr.RemoteAddr = s.data.Addr + uint64(offset)
		s.wr.Imm = stamp(chunk(s.source.Bytes(), s.posted), s.posted)
		if err := s.qp.PostSend(&s.wr); err != nil {
			return err
		}
		s.posted++
	}
	return nil
}

// take takes in completed chunks and credit.
func (s *stream) take(completions []verbs.Completion) error {
	before := s.completed
	for i := range completions {
		c := &completions[i]
		if !isReceive(c) {
			s.completed++
			continue
		}
		mail, err := s.takeMail(c)
		if err != nil {
			return err
		}
		if len(mail) != 8 {
			return fmt.Errorf("%w: %d bytes instead of a credit", errUnexpected, len(mail))
		}
		s.credited = max(s.credited, binary.LittleEndian.Uint64(mail))
	}
	if s.completed > before {
		s.stalls.completed(time.Now())
	}
	return nil
}

// verify asks the responder for its verdict and compares the whole region.
func (s *stream) verify(ctx context.Context) error {
	if err := s.Send(ctx, askVerdict, s.posted); err != nil {
		return err
	}
	var v verdict
	if err := s.Receive(ctx, tellReady, &v); err != nil {
		return err
	}
	// The last credits are still on their way, or have come and were not polled.
	same, err := s.sameDigestAfterCredit(ctx)
	if err != nil {
		return err
	}
	right := same && v.Mismatches == 0 && v.Checked == s.posted
	s.checked(OperationDone{Op: "stream", Count: s.posted, Bytes: s.posted * chunkSize, Verified: right},
		fmt.Sprintf("stream: %d chunks sent, %d received, %d of them wrong; region equal at the end: %v",
			s.posted, v.Checked, v.Mismatches, same))
	return nil
}

// sameDigestAfterCredit is sameDigest with credits, which are shorter, before
// the digest.
func (s *stream) sameDigestAfterCredit(ctx context.Context) (bool, error) {
	if err := s.Send(ctx, askDigest, nil); err != nil {
		return false, err
	}
	want := digestOf(s.source.Bytes())
	for {
		completions, err := s.poll(ctx)
		if err != nil {
			return false, err
		}
		for i := range completions {
			mail, err := s.takeMail(&completions[i])
			if err != nil {
				return false, err
			}
			if len(mail) == len(want) {
				return string(mail) == string(want), nil
			}
		}
	}
}
