package perf

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

// policies are the path policies by the names that users give them.
var policies = []struct {
	name string
	make func(int, *transport.MPOptions, *rand.Rand) transport.PathPolicy
}{
	{"ackclock", transport.NewAckClock},
	{"single", transport.NewSinglePath},
	{"roundrobin", transport.NewRoundRobin},
	{"spray", transport.NewRandomSpray},
}

// controls are the congestion controls by the names that users give them.
var controls = []struct {
	name string
	make func(*transport.MPOptions) transport.CongestionControl
}{
	{"mprdma", transport.NewMPWindow},
	{"fixed", transport.NewFixedWindow},
}

// Policies are the names of the path policies, the default first.
func Policies() []string {
	var names []string
	for _, p := range policies {
		names = append(names, p.name)
	}
	return names
}

// Controls are the names of the congestion controls, the default first.
func Controls() []string {
	var names []string
	for _, c := range controls {
		names = append(names, c.name)
	}
	return names
}

// MPOptions are the options of a multi-path queue pair with a policy and a
// congestion control by name; paper asks for MP-RDMA's own parameters.
func MPOptions(policy, control string, paper bool) (verbs.MPOptions, error) {
	options := verbs.WireOptions()
	if paper {
		options = verbs.PaperOptions()
	}
	p := slices.Index(Policies(), policy)
	if p < 0 {
		return options, fmt.Errorf("%w: unknown path policy %q: use one of %v", ErrSpec, policy, Policies())
	}
	c := slices.Index(Controls(), control)
	if c < 0 {
		return options, fmt.Errorf("%w: unknown congestion control %q: use one of %v", ErrSpec, control, Controls())
	}
	options.Policy, options.Control = policies[p].make, controls[c].make
	return options, nil
}

// queuePairOptions are the options of each queue pair of the test, at both
// ends; completion queues are added by the endpoint.
func (s *Spec) queuePairOptions() (verbs.QPOptions, error) {
	options := verbs.QPOptions{
		Type: verbs.RC, SendDepth: s.TxDepth, RecvDepth: s.recvDepth(),
		MaxSendSGE: 1, MaxRecvSGE: 1, MaxInline: verbs.None,
		Conn: verbs.ConnOptions{MTU: s.MTU, AckTimeout: verbs.AckTimeoutOf(s.QPTimeout)},
	}
	switch s.QP {
	case "rc":
		return options, nil
	case "mp":
	default:
		return options, fmt.Errorf("%w: unknown queue pair type %q: use mp or rc", ErrSpec, s.QP)
	}
	mp, err := MPOptions(s.Policy, s.CC, s.Paper)
	options.Type, options.MP = verbs.MP, mp
	options.Conn.Paths = s.Paths
	return options, err
}

// recvDepth is how many receives an end keeps posted: several times what can
// be outstanding, so that a receiver which is late for a moment does not make
// the sender wait.
func (s *Spec) recvDepth() int {
	if !s.receives() {
		return 1
	}
	return min(max(512, 4*s.TxDepth), transport.MaxQueueDepth)
}
