// Command simulate tries a path policy of one's own in a datacenter: the very object
// could be given to a queue pair on real sockets.
package main

import (
	"fmt"
	"log"
	"math/rand/v2"

	"github.com/braid-rdma/braid/sim"
	"github.com/braid-rdma/braid/sim/topology"
	"github.com/braid-rdma/braid/sim/workload"
	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

// twoChoices sends each packet by the better of two random paths: the one that
// was marked less often lately.
type twoChoices struct {
	marks []float64
	r     *rand.Rand
}

func newTwoChoices(paths int, _ *verbs.MPOptions, r *rand.Rand) transport.PathPolicy {
	return &twoChoices{make([]float64, paths), r}
}

func (t *twoChoices) Next() transport.Path {
	a, b := t.r.IntN(len(t.marks)), t.r.IntN(len(t.marks))
	if t.marks[b] < t.marks[a] {
		a = b
	}
	return transport.Path(a)
}

func (t *twoChoices) Feedback(p transport.Path, s transport.Signal, _ int) {
	t.marks[p] *= 0.9
	if s != transport.Good {
		t.marks[p]++
	}
}

func (t *twoChoices) AckClocked() bool               { return false }
func (t *twoChoices) SetUsable(transport.Path, bool) {}

func main() {
	for _, c := range []struct {
		name   string
		policy newPolicy
	}{{"ACK clocking (MP-RDMA)", nil}, {"two choices", newTwoChoices}} {
		slowest, err := run(c.policy)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%-24s the last of 128 hosts has sent its 2 MB after %v\n", c.name, slowest)
	}
}

// newPolicy makes the policy of a queue pair; nil stands for ACK clocking.
type newPolicy func(paths int, o *verbs.MPOptions, r *rand.Rand) transport.PathPolicy

// run lets every host of a leaf-spine send 2 MB to another one, and returns when
// the last was done.
func run(policy newPolicy) (sim.Time, error) {
	graph, err := topology.LS128().Build()
	if err != nil {
		return 0, err
	}
	config := sim.Config{Seed: 1}
	config.Switch.PFC.On = true
	config.Switch.Marking = sim.Marking{Kmin: 100_000, Kmax: 400_000, Pmax: 0.2}
	network, err := sim.New(graph, config)
	if err != nil {
		return 0, err
	}
	flows, err := workload.Permutation{Bytes: 2_000_000}.Flows(network.Hosts(), rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		return 0, err
	}
	options := verbs.PaperOptions()
	options.Policy = policy
	traffic, err := network.Carry(flows, sim.Carrier{QP: verbs.QPOptions{Type: verbs.MP, MP: options}})
	if err != nil {
		return 0, err
	}
	network.Run(sim.Second)
	var slowest sim.Time
	for i := range traffic.Flows() {
		r := traffic.Result(i)
		if !r.Done() {
			return 0, fmt.Errorf("flow %d did not finish: %w", i, r.Err)
		}
		slowest = max(slowest, r.Duration())
	}
	return slowest, nil
}
