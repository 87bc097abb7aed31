package udp

import (
	"testing"

	"github.com/braid-rdma/braid/verbs"
)

// TestWhatWasReceivedIsAcknowledged ends a queue pair as soon as its program has
// seen a message. The sender must learn that it arrived, although a round leaves
// the acknowledgement to be sent with the program's answer, which never comes.
func TestWhatWasReceivedIsAcknowledged(t *testing.T) {
	ends := map[string]func(s *end) error{
		"close":  func(s *end) error { return s.qp.Close() },
		"error":  func(s *end) error { return s.qp.Modify(verbs.Err, nil) },
		"reset":  func(s *end) error { return s.qp.Modify(verbs.Reset, nil) },
		"cq":     func(s *end) error { return s.cq.Close() },
		"device": func(s *end) error { return s.dev.Close() },
	}
	for _, kind := range []verbs.QPType{verbs.RC, verbs.MP} {
		for name, leave := range ends {
			t.Run(kind.String()+"/"+name, func(t *testing.T) {
				for range 5 {
					a, b := connect(t, Config{Paths: 2}, patientOptions(kind), 4096)
					noError(t, b.qp.PostRecv(&verbs.RecvWR{SGEs: []verbs.SGE{b.mr.SGE(0, 16)}}))
					noError(t, a.qp.PostSend(&verbs.SendWR{Op: verbs.OpSend, Flags: verbs.Signaled, SGEs: []verbs.SGE{a.mr.SGE(0, 16)}}))
					b.wait()
					noError(t, leave(b))
					a.wait()
				}
			})
		}
	}
}
