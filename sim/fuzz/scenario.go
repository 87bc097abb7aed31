package fuzz

import (
	"fmt"
	"strings"

	"github.com/braid-rdma/braid/sim"
	"github.com/braid-rdma/braid/sim/topology"
	"github.com/braid-rdma/braid/verbs"
)

// scenario is everything that happens in a run, as plain data.
type scenario struct {
	seed   uint64
	fabric topology.Builder
	config sim.Config
	talks  []talkSpec
	faults []faultSpec
}

// talkSpec describes a connection and what its ends ask of each other.
type talkSpec struct {
	hosts  [2]int
	qp     verbs.QPOptions
	start  sim.Time
	ends   [2]endSpec
	lately sim.Time // how long an end takes to post a receive again; 0: it is always in time
}

// endSpec is what one end of a talk does.
type endSpec struct {
	ops     []opSpec
	receive int // receives that it has posted at a time
}

// opSpec is one operation.
type opSpec struct {
	kind     verbs.Op
	length   int
	flags    verbs.SendFlags
	imm      uint32
	compare  bool     // a compare and swap that succeeds
	addend   uint64   // of a fetch and add; the new value of a compare and swap
	thinking sim.Time // before it is posted
	spare    int      // bytes of room that a receive has beyond the message
}

// faultSpec is something that goes wrong for a while.
type faultSpec struct {
	from, until sim.Time
	link        string
	direction   sim.Direction
	impairment  sim.Impairment
	storm       int // 1 + the host that stops its switch instead; 0: none
}

// heals is when the last fault has ended.
func (s *scenario) heals() (last sim.Time) {
	for _, f := range s.faults {
		last = max(last, f.until)
	}
	return last
}

// harsh says whether the faults may use up the retries of a connection, which
// then ends with IBV_WC_RETRY_EXC_ERR rather than with success.
func (s *scenario) harsh() bool {
	for _, f := range s.faults {
		i := &f.impairment
		if f.storm != 0 || i.Down || i.Loss > 0.05 || i.LossEvery > 0 && i.LossEvery < 16 || i.Burst.Enter > 0 || i.Corrupt > 0.05 || i.Delay > 0 || i.Jitter > 0 || i.Rate > 0 {
			return true
		}
	}
	return false
}

// operations counts the operations of all talks.
func (s *scenario) operations() (n int) {
	for i := range s.talks {
		n += len(s.talks[i].ends[0].ops) + len(s.talks[i].ends[1].ops)
	}
	return n
}

// describe prints a scenario for who has to understand a failure.
func (s *scenario) describe() string {
	var b strings.Builder
	fmt.Fprintf(&b, "fabric %T%+v\n", s.fabric, s.fabric)
	c := &s.config
	fmt.Fprintf(&b, "MTU %d, %d paths, wire %v, buffer %d, PFC %v, marking %d to %d\n", c.MTU, c.Paths, c.Wire, c.Switch.Buffer, c.Switch.PFC.On, c.Switch.Marking.Kmin, c.Switch.Marking.Kmax)
	for i := range s.talks {
		t := &s.talks[i]
		fmt.Fprintf(&b, "talk %d: %v between hosts %d and %d from %v", i, t.qp.Type, t.hosts[0], t.hosts[1], t.start)
		if t.qp.Type == verbs.MP {
			o := &t.qp.MP
			fmt.Fprintf(&b, ", L=%d delta=%d selective %v", o.Slots, o.Delta, o.Selective)
		}
		b.WriteByte('\n')
		for side := range t.ends {
			for n, o := range t.ends[side].ops {
				fmt.Fprintf(&b, "  host %d posts %d: %v of %d bytes, flags %05b\n", t.hosts[side], n, o.kind, o.length, o.flags)
			}
		}
	}
	for _, f := range s.faults {
		if f.storm != 0 {
			fmt.Fprintf(&b, "fault from %v to %v: host %d stops its switch\n", f.from, f.until, f.storm-1)
			continue
		}
		fmt.Fprintf(&b, "fault from %v to %v on %s, direction %d: %+v\n", f.from, f.until, f.link, f.direction, f.impairment)
	}
	return b.String()
}
