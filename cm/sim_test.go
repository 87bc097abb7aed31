package cm

import (
	"fmt"
	"testing"

	"github.com/braid-rdma/braid/cm/machine"
	"github.com/braid-rdma/braid/cm/mad"
	"github.com/braid-rdma/braid/sim"
	"github.com/braid-rdma/braid/sim/topology"
	"github.com/braid-rdma/braid/verbs"
)

// simulated is a manager's program on a host of the simulator: everything
// happens in the thread and the time of the simulation.
type simulated struct {
	t     *testing.T
	agent *Agent
	qp    *verbs.QP
	log   []string
}

func newSimulated(t *testing.T, dev *verbs.Device) *simulated {
	t.Helper()
	s := &simulated{t: t}
	var err error
	s.agent, err = NewAgent(dev, machine.Config{})
	must(t, err)
	pd, err := dev.CreatePD()
	must(t, err)
	cq, err := dev.CreateCQ(16)
	must(t, err)
	s.qp, err = pd.CreateQP(verbs.QPOptions{Type: verbs.RC, SendCQ: cq})
	must(t, err)
	return s
}

// act takes a step, grants what is asked and goes on with what is granted.
func (s *simulated) act() {
	_, err := s.agent.Step()
	must(s.t, err)
	core, now := s.agent.Machine(), s.agent.Now()
	for {
		e, ok := core.PollEvent()
		if !ok {
			break
		}
		s.log = append(s.log, fmt.Sprintf("%d %v", now, e.Kind))
		switch e.Kind {
		case machine.Requested:
			p := remoteEnd{addr: e.Peer, qpn: e.REQ.QPN, psn: e.REQ.PSN, mtu: e.REQ.MTU.Bytes()}
			local := s.qp.Params()
			must(s.t, p.connect(s.qp, &Options{}, &verbs.Limits{}))
			must(s.t, core.Accept(now, e.ID, mad.REP{QPN: local.QPN, PSN: local.PSN}, true))
		case machine.Replied:
			p := remoteEnd{addr: e.Peer, qpn: e.REP.QPN, psn: e.REP.PSN, mtu: s.qp.Params().MTU}
			must(s.t, p.connect(s.qp, &Options{}, &verbs.Limits{}))
			must(s.t, core.Ready(now, e.ID, true))
		}
	}
	s.agent.Flush()
}

// converse runs a handshake through a leaf-spine that loses a third of the
// packets, and returns what happened when, and how often something was said
// again.
func converse(t *testing.T, seed uint64) (log []string, repeated uint64) {
	graph, err := topology.LeafSpine{
		Leaves: 2, HostsPerLeaf: 1, Spines: 2, HostRate: 10e9,
		HostDelay: topology.Microsecond, FabricDelay: topology.Microsecond,
	}.Build()
	must(t, err)
	n, err := sim.New(graph, sim.Config{Seed: seed, MTU: 1024, Verify: true})
	must(t, err)
	link := n.Links()[0]
	must(t, n.Impair(1, fmt.Sprintf("%s-%s", link.From, link.To), sim.Both, sim.Impairment{Loss: 0.33}))
	a, b := newSimulated(t, n.Device(0)), newSimulated(t, n.Device(1))
	must(t, b.agent.Machine().Listen(mad.PortService(1), 10))
	p := a.qp.Params()
	_, err = a.agent.Machine().Connect(a.agent.Now(), b.qp.Params().Addr, mad.REQ{
		Service: mad.PortService(1), QPN: p.QPN, PSN: p.PSN, MTU: mad.MTUOf(p.MTU),
	})
	must(t, err)
	for now := n.Now(); now < 20*sim.Second && a.agent.Machine().Len() > 0; now += sim.Millisecond {
		a.act()
		b.act()
		n.Run(now)
	}
	if a.qp.State() != verbs.RTS || b.qp.State() != verbs.RTS {
		t.Errorf("seed %d: %v and %v: %q %q", seed, a.qp.State(), b.qp.State(), a.log, b.log)
	}
	return append(a.log, b.log...), a.agent.Machine().Counters().Retransmits + b.agent.Machine().Counters().Retransmits
}

// TestInSimulation: managers on simulated hosts connect through lossy links,
// and a seed gives the same conversation again.
func TestInSimulation(t *testing.T) {
	losses := uint64(0)
	for seed := range uint64(20) {
		first, repeated := converse(t, seed)
		again, _ := converse(t, seed)
		if fmt.Sprint(first) != fmt.Sprint(again) {
			t.Errorf("seed %d: %q, and then %q", seed, first, again)
		}
		losses += repeated
	}
	if losses == 0 {
		t.Error("the network lost nothing")
	}
}
