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
	chats  []chatSpec
	faults []faultSpec
	// contexts has one for each host, if there are channels.
	channels []channelSpec
	contexts []contextSpec
	mock     *mockSpec // nil: channels have no TCP
}

// talkSpec describes a connection and what its ends ask of each other.
type talkSpec struct {
	hosts  [2]int
	qp     verbs.QPOptions
	start  sim.Time
	ends   [2]endSpec
	lately sim.Time // how long an end takes to post a receive again; 0: it is always in time
	shared bool     // receives come from queues that all such talks of a host share
	ranked bool     // its operations have ranks: some posts wait for other completions (gates.go)
	beside bool     // long READs of one end beside short SENDs of the other (turns.go)
}

// chatSpec describes an exchange of datagrams.
type chatSpec struct {
	hosts  [2]int
	depth  int // of the send queues
	key    verbs.QKey
	start  sim.Time
	ends   [2]endSpec
	lately sim.Time
}

// endSpec is what one end of a talk does.
type endSpec struct {
	ops     []opSpec
	receive int      // receives that it has posted at a time
	revoke  sim.Time // when it ends the key of its window; 0: never
	amid    int      // after how many packets of READ responses it ends that key; 0: never
	closes  bool     // it ends the key by deregistering the window
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
	leased   bool     // a WRITE to memory whose key the next SEND with invalidate ends
	stray    bool     // it names a key that is ended, or not the one that it needs

	rank  int  // of a ranked talk: its place among the operations of all ranked talks
	gated bool // the receive that it takes waits for the requests of a lower rank of the end that posts it
	wide  bool // and for those of all ends of that host
	waits bool // it is posted when all messages of a lower rank have come to its host
}

func (o *opSpec) isAtomic() bool {
	return o.kind == verbs.OpFetchAdd || o.kind == verbs.OpCompareSwap
}

func (o *opSpec) awaitsResponse() bool { return o.kind == verbs.OpRead || o.isAtomic() }

func (o *opSpec) isSend() bool {
	return o.kind == verbs.OpSend || o.kind == verbs.OpSendImm || o.kind == verbs.OpSendInv
}

func (o *opSpec) isWrite() bool { return o.kind == verbs.OpWrite || o.kind == verbs.OpWriteImm }

func (o *opSpec) takesReceive() bool { return o.isSend() || o.kind == verbs.OpWriteImm }

// faultSpec is something that goes wrong for a while.
type faultSpec struct {
	from, until sim.Time
	link        string
	direction   sim.Direction
	impairment  sim.Impairment
	storm       int           // 1 + the host that stops its switch instead; 0: none
	slow        *sim.Receiver // how that host receives, if it does not stop its switch by itself
}

// heals is when the last fault has ended.
func (s *scenario) heals() (last sim.Time) {
	for _, f := range s.faults {
		last = max(last, f.until)
	}
	if s.mock != nil {
		for _, f := range s.mock.faults {
			last = max(last, f.until)
		}
	}
	return last
}

// harsh says whether the faults may use up the retries of a connection, which
// then ends with IBV_WC_RETRY_EXC_ERR rather than with success.
func (s *scenario) harsh() bool { return s.moves() || s.harshFaults() }

func (s *scenario) harshFaults() bool {
	for _, f := range s.faults {
		i := &f.impairment
		if f.storm != 0 || i.Down || i.Loss > 0.05 || i.LossEvery > 0 && i.LossEvery < 16 || i.Burst.Enter > 0 || i.Corrupt > 0.05 || i.Delay > 0 || i.Jitter > 0 || i.Rate > 0 || i.Pauses {
			return true
		}
	}
	return false
}

// everyEnd lists what the ends of all talks and chats do.
func (s *scenario) everyEnd() (ends []*endSpec) {
	for i := range s.talks {
		ends = append(ends, &s.talks[i].ends[0], &s.talks[i].ends[1])
	}
	for i := range s.chats {
		ends = append(ends, &s.chats[i].ends[0], &s.chats[i].ends[1])
	}
	return ends
}

// operations counts the operations of all talks, chats and channels.
func (s *scenario) operations() (n int) {
	for _, e := range s.everyEnd() {
		n += len(e.ops)
	}
	for _, thread := range s.everyThread() {
		n += len(*thread)
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
		fmt.Fprintf(&b, ", shared receives %v\n", t.shared)
		describeEnds(&b, t.hosts, &t.ends)
	}
	for i := range s.chats {
		c := &s.chats[i]
		fmt.Fprintf(&b, "chat %d: UD between hosts %d and %d from %v\n", i, c.hosts[0], c.hosts[1], c.start)
		describeEnds(&b, c.hosts, &c.ends)
	}
	s.describeChannels(&b)
	s.mock.describe(&b)
	for _, f := range s.faults {
		if f.slow != nil {
			fmt.Fprintf(&b, "fault from %v to %v: host %d receives slowly: %+v\n", f.from, f.until, f.storm-1, *f.slow)
			continue
		}
		if f.storm != 0 {
			fmt.Fprintf(&b, "fault from %v to %v: host %d stops its switch\n", f.from, f.until, f.storm-1)
			continue
		}
		fmt.Fprintf(&b, "fault from %v to %v on %s, direction %d: %+v\n", f.from, f.until, f.link, f.direction, f.impairment)
	}
	return b.String()
}

// describeEnds prints what the two ends of a talk or chat do.
func describeEnds(b *strings.Builder, hosts [2]int, ends *[2]endSpec) {
	for side := range ends {
		if at := ends[side].revoke; at > 0 {
			fmt.Fprintf(b, "  host %d ends the key of its window at %v\n", hosts[side], at)
		}
		if n := ends[side].amid; n > 0 {
			fmt.Fprintf(b, "  host %d ends the key of its window after %d packets of READ responses, deregistering %v\n", hosts[side], n, ends[side].closes)
		}
		for n, o := range ends[side].ops {
			fmt.Fprintf(b, "  host %d posts %d: %v of %d bytes, flags %05b", hosts[side], n, o.kind, o.length, o.flags)
			if o.leased {
				b.WriteString(", to leased memory")
			}
			if o.stray {
				b.WriteString(", with a key that does not fit")
			}
			if o.rank > 0 {
				fmt.Fprintf(b, ", rank %d, gated %v, wide %v, waits %v", o.rank, o.gated, o.wide, o.waits)
			}
			b.WriteByte('\n')
		}
	}
}
