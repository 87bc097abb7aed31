// Command research is the command braid with a path policy of one's own: its name is known to
// scenarios, sweeps and figures, and to perf on real sockets. Without arguments it runs the
// scenario beside it, which names the policy.
//
//	go run ./examples/research sim run quickstart --policy sticky
//	go run ./examples/research sim sweep quickstart --grid transports.mp.policy=ack-clock,sticky
//	go run ./examples/research perf write bw --loopback --policy sticky
package main

import (
	"math/rand/v2"
	"os"

	"github.com/braid-rdma/braid/cmd/braid/full"
	"github.com/braid-rdma/braid/transport"
)

// sticky stays on a path until a packet of it is marked or lost.
type sticky struct {
	path transport.Path
	out  []bool // paths that the transport has taken out of use
}

func newSticky(paths int, _ *transport.MPOptions, r *rand.Rand) transport.PathPolicy {
	return &sticky{transport.Path(r.IntN(paths)), make([]bool, paths)}
}

func (s *sticky) Next() transport.Path { return s.path }

func (s *sticky) Feedback(p transport.Path, signal transport.Signal, _ int) {
	if p == s.path && signal != transport.Good {
		s.leave()
	}
}

func (s *sticky) AckClocked() bool { return false }

func (s *sticky) SetUsable(p transport.Path, usable bool) {
	s.out[p] = !usable
	if s.out[s.path] {
		s.leave()
	}
}

// leave goes to the next path that is in use; one always is.
func (s *sticky) leave() {
	s.path = (s.path + 1) % transport.Path(len(s.out))
	for s.out[s.path] {
		s.path = (s.path + 1) % transport.Path(len(s.out))
	}
}

func main() {
	transport.PathPolicies.Register(transport.Entry[transport.NewPathPolicy]{
		Name: "sticky", Description: "one path until a packet of it is marked or lost, and then the next", New: newSticky,
	})
	if len(os.Args) == 1 {
		os.Args = append(os.Args, "sim", "run", "examples/research/scenario.yaml")
	}
	full.Main()
}
