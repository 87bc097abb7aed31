package fuzz

import (
	"slices"

	"github.com/braid-rdma/braid/sim/topology"
	"github.com/braid-rdma/braid/verbs"
)

// A Count is how many seeds have something.
type Count struct {
	Group string `json:"group"` // network, transport, fault or work
	Name  string `json:"name"`
	Seeds int    `json:"seeds"`
}

// Covered counts what the scenarios of some seeds have. What none of them has is
// listed too: a campaign says nothing about it.
func Covered(first uint64, count int) ([]Count, error) {
	counts := make([]Count, len(features))
	for i, f := range features {
		counts[i] = Count{Group: f.group, Name: f.name}
	}
	for i := range count {
		s, err := newScenario(first + uint64(i))
		if err != nil {
			return nil, err
		}
		for i, f := range features {
			if f.in(s) {
				counts[i].Seeds++
			}
		}
	}
	return counts, nil
}

// A feature is something that a scenario may have.
type feature struct {
	group, name string
	in          func(*scenario) bool
}

var features = slices.Concat(networkFeatures, transportFeatures, faultFeatures, workFeatures)

var networkFeatures = []feature{
	{"network", "fat tree", builtAs[topology.FatTree]},
	{"network", "leaf and spine", builtAs[topology.LeafSpine]},
	{"network", "parallel paths", builtAs[topology.ParallelPaths]},
	{"network", "PFC", func(s *scenario) bool { return s.config.Switch.PFC.On }},
	{"network", "ECN", func(s *scenario) bool { return s.config.Switch.Marking.Kmax > 0 }},
	{"network", "encoded packets", func(s *scenario) bool { return s.config.Wire }},
}

func builtAs[T topology.Builder](s *scenario) bool {
	_, is := s.fabric.(T)
	return is
}

var transportFeatures = []feature{
	{"transport", "MP", someTalk(func(t *talkSpec) bool { return t.qp.Type == verbs.MP })},
	{"transport", "RC", someTalk(func(t *talkSpec) bool { return t.qp.Type == verbs.RC })},
	{"transport", "UD", func(s *scenario) bool { return len(s.chats) > 0 }},
	{"transport", "channels", func(s *scenario) bool { return len(s.channels) > 0 }},
	{"transport", "Mock", func(s *scenario) bool { return s.mock != nil }},
}

var faultFeatures = []feature{
	{"fault", "none", func(s *scenario) bool { return len(s.faults) == 0 && s.heals() == 0 }},
	{"fault", "cut", someFault(func(f *faultSpec) bool { return f.impairment.Down })},
	{"fault", "loss", someFault(func(f *faultSpec) bool {
		return f.impairment.Loss > 0 || f.impairment.LossEvery > 0 || f.impairment.Burst.Enter > 0
	})},
	{"fault", "corruption", someFault(func(f *faultSpec) bool { return f.impairment.Corrupt > 0 })},
	{"fault", "duplicates", someFault(func(f *faultSpec) bool { return f.impairment.Duplicate > 0 })},
	{"fault", "jitter", someFault(func(f *faultSpec) bool { return f.impairment.Jitter > 0 })},
	{"fault", "slow link", someFault(func(f *faultSpec) bool { return f.impairment.Rate > 0 })},
	{"fault", "lost pauses", someFault(func(f *faultSpec) bool { return f.impairment.Pauses })},
	{"fault", "pause storm", someFault(func(f *faultSpec) bool { return f.storm != 0 && f.slow == nil })},
	{"fault", "slow receiver", someFault(func(f *faultSpec) bool { return f.slow != nil })},
	{"fault", "TCP", func(s *scenario) bool { return s.mock != nil && len(s.mock.faults) > 0 }},
	{"fault", "dead host", func(s *scenario) bool {
		return slices.ContainsFunc(s.contexts, func(c contextSpec) bool { return c.dies > 0 })
	}},
}

var workFeatures = []feature{
	{"work", "SEND", someOp((*opSpec).isSend)},
	{"work", "WRITE", someOp((*opSpec).isWrite)},
	{"work", "READ", someOp(func(o *opSpec) bool { return o.kind == verbs.OpRead })},
	{"work", "atomics", someOp((*opSpec).isAtomic)},
	{"work", "invalidated keys", someOp(func(o *opSpec) bool { return o.kind == verbs.OpSendInv })},
	{"work", "wrong keys", someOp(func(o *opSpec) bool { return o.stray })},
	{"work", "revoked keys", func(s *scenario) bool {
		return slices.ContainsFunc(s.everyEnd(), func(e *endSpec) bool { return e.revoke > 0 || e.amid > 0 })
	}},
	{"work", "late receives", someTalk(func(t *talkSpec) bool { return t.lately > 0 })},
	{"work", "shared receives", someTalk(func(t *talkSpec) bool { return t.shared })},
	{"work", "posts that wait for others", someTalk(func(t *talkSpec) bool { return t.ranked })},
	{"work", "calls", someMessage(aCall)},
	{"work", "messages sent together", func(s *scenario) bool {
		return slices.ContainsFunc(s.everyThread(), func(t *[]messageSpec) bool {
			return slices.ContainsFunc(*t, func(m messageSpec) bool { return m.joined })
		})
	}},
	{"work", "one-sided of channels", someMessage(aRead, aWrite, anAdd)},
}

func someTalk(is func(*talkSpec) bool) func(*scenario) bool {
	return func(s *scenario) bool {
		return slices.ContainsFunc(s.talks, func(t talkSpec) bool { return is(&t) })
	}
}

func someFault(is func(*faultSpec) bool) func(*scenario) bool {
	return func(s *scenario) bool {
		return slices.ContainsFunc(s.faults, func(f faultSpec) bool { return is(&f) })
	}
}

func someOp(is func(*opSpec) bool) func(*scenario) bool {
	return func(s *scenario) bool {
		return slices.ContainsFunc(s.everyEnd(), func(e *endSpec) bool {
			return slices.ContainsFunc(e.ops, func(o opSpec) bool { return is(&o) })
		})
	}
}

func someMessage(kinds ...messageKind) func(*scenario) bool {
	return func(s *scenario) bool {
		return slices.ContainsFunc(s.everyThread(), func(t *[]messageSpec) bool {
			return slices.ContainsFunc(*t, func(m messageSpec) bool { return slices.Contains(kinds, m.kind) })
		})
	}
}
