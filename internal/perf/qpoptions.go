package perf

import (
	"fmt"

	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

// MPOptions are the options of a multi-path queue pair with a policy and a
// congestion control by name; paper asks for MP-RDMA's own parameters.
func MPOptions(policy, control string, paper bool) (verbs.MPOptions, error) {
	options := verbs.WireOptions()
	if paper {
		options = verbs.PaperOptions()
	}
	return options, options.Choose(policy, control)
}

// queuePairOptions are the options of each queue pair of the test, at both
// ends; completion queues are added by the endpoint.
func (s *Spec) queuePairOptions() (verbs.QPOptions, error) {
	options := verbs.QPOptions{
		Type: verbs.RC, SendDepth: s.TxDepth, RecvDepth: s.recvDepth(),
		MaxSendSGE: 1, MaxRecvSGE: 1, MaxInline: verbs.None, Trace: s.Trace,
		Conn: verbs.ConnOptions{MTU: s.MTU, AckTimeout: verbs.AckTimeoutOf(s.QPTimeout)},
	}
	if s.inlined() {
		options.MaxInline = s.Inline
	}
	switch s.QP {
	case "rc":
		if err := options.RC.ChooseRate(s.CC, float64(s.LineRate)); err != nil {
			return options, fmt.Errorf("%w: %w", ErrSpec, err)
		}
		return options, nil
	case "mp":
	default:
		return options, fmt.Errorf("%w: unknown queue pair type %q: use mp or rc", ErrSpec, s.QP)
	}
	mp, err := MPOptions(s.Policy, s.CC, s.Paper)
	if err != nil {
		return options, fmt.Errorf("%w: %w", ErrSpec, err)
	}
	options.Type, options.MP = verbs.MP, mp
	options.Conn.Paths = s.Paths
	return options, nil
}

// recvDepth is how many receives an end keeps posted: several times what can
// be outstanding, so that a receiver which is late for a moment does not make
// the sender wait.
func (s *Spec) recvDepth() int {
	switch {
	case !s.receives():
		return 1
	case s.RxDepth > 0:
		return s.RxDepth
	}
	return min(max(512, 4*s.TxDepth), transport.MaxQueueDepth)
}
