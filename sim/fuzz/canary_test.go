package fuzz

import (
	"slices"
	"testing"

	"github.com/braid-rdma/braid/sim/internal/hook"
	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
	"github.com/braid-rdma/braid/wire"
)

// A canary is a bug that is planted to see whether the fuzzer finds it. Each is a
// layer around one queue pair, or around all, that does one thing wrong.

// canary is a queue pair with a bug.
type canary struct {
	transport.QP
	packet   func(c *canary, now transport.Time, p *transport.Packet) transport.Verdict
	transmit func(c *canary, p *transport.Packet)
	complete func(c *canary, t *transport.Completion) bool
	count    int
	kept     transport.Completion
	owes     bool
	timeless bool
}

func (c *canary) Timeout() transport.Time {
	if c.timeless {
		return transport.Never
	}
	return c.QP.Timeout()
}

func (c *canary) HandlePacket(now transport.Time, p *transport.Packet) transport.Verdict {
	if c.packet != nil {
		return c.packet(c, now, p)
	}
	return c.QP.HandlePacket(now, p)
}

func (c *canary) PollTransmit(now transport.Time, p *transport.Packet) bool {
	if !c.QP.PollTransmit(now, p) {
		return false
	}
	if c.transmit != nil {
		c.transmit(c, p)
	}
	return true
}

func (c *canary) PollCompletion(t *transport.Completion) bool {
	if c.complete != nil {
		return c.complete(c, t)
	}
	return c.QP.PollCompletion(t)
}

// layer plants a canary in every queue pair of every talk.
func layer(make func() *canary) sabotage {
	return layerOn(func(*end) *canary { return make() })
}

// layerOn is layer for canaries that know the end that they sit at.
func layerOn(make func(*end) *canary) sabotage {
	return func(w *world) {
		for _, t := range w.talks {
			for _, e := range t.ends {
				make(e).plant(w, e.host, e.qp)
			}
		}
	}
}

// plant puts the canary around a queue pair.
func (c *canary) plant(w *world, host int, qp *verbs.QP) {
	hook.Decorate(w.net, host, qp.Number(), func(inner transport.QP) transport.QP {
		c.QP = inner
		return c
	})
}

// isData says whether a packet has payload and is the n-th that does.
func (c *canary) isData(p *transport.Packet, n int) bool {
	if p.Length > 0 {
		c.count++
	}
	return p.Length > 0 && c.count == n
}

// planted is a bug with its name.
type planted struct {
	name  string
	plant sabotage
}

var canaries = []planted{
	{"ACK before arrival", layer(func() *canary {
		return &canary{transmit: func(c *canary, p *transport.Packet) {
			if p.Length > 0 || p.Opcode.Base() != wire.Acknowledge || p.AETH.Syndrome.IsNak() {
				return
			}
			// It acknowledges one packet more than has arrived.
			if c.count++; c.count == 3 {
				p.PSN = (p.PSN + 1) & wire.PSNMask
				p.Ack.AACK = (p.Ack.AACK + 1) & wire.PSNMask
			}
		}}
	})},
	{"payload not placed", layer(func() *canary {
		return &canary{packet: func(c *canary, now transport.Time, p *transport.Packet) transport.Verdict {
			v := c.QP.HandlePacket(now, p)
			if v == transport.Place && c.isData(p, 2) {
				return transport.Done
			}
			return v
		}}
	})},
	{"payloads swapped", layer(func() *canary {
		var earlier []transport.Span
		return &canary{packet: func(c *canary, now transport.Time, p *transport.Packet) transport.Verdict {
			v := c.QP.HandlePacket(now, p)
			if v != transport.Place || len(p.Spans) == 0 {
				return v
			}
			if c.count++; c.count == 2 && earlier[0].Length >= p.Spans[0].Length {
				earlier[0].Length = p.Spans[0].Length
				p.Spans[0] = earlier[0]
			}
			earlier = append(earlier[:0], p.Spans...)
			return v
		}}
	})},
	{"one byte beyond", layer(func() *canary {
		return &canary{packet: func(c *canary, now transport.Time, p *transport.Packet) transport.Verdict {
			v := c.QP.HandlePacket(now, p)
			if v == transport.Place && c.isData(p, 1) {
				last := &p.Spans[len(p.Spans)-1]
				last.Region.Bytes[last.Offset+uint64(last.Length)]++
			}
			return v
		}}
	})},
	{"completion twice", layer(func() *canary {
		return &canary{complete: func(c *canary, t *transport.Completion) bool {
			if c.owes {
				c.owes, *t = false, c.kept
				return true
			}
			if !c.QP.PollCompletion(t) {
				return false
			}
			if c.count++; c.count == 2 {
				c.owes, c.kept = true, *t
			}
			return true
		}}
	})},
	{"completion lost", layer(func() *canary {
		return &canary{complete: func(c *canary, t *transport.Completion) bool {
			for c.QP.PollCompletion(t) {
				if c.count++; c.count != 2 {
					return true
				}
			}
			return false
		}}
	})},
	{"wrong immediate", layer(func() *canary {
		return &canary{complete: func(c *canary, t *transport.Completion) bool {
			ok := c.QP.PollCompletion(t)
			if ok && t.HasImm {
				t.Imm ^= 1
			}
			return ok
		}}
	})},
	{"timer forgotten", layer(func() *canary { return &canary{timeless: true} })},
	{"XON lost", func(w *world) { hook.LoseResume(w.net, 2) }},
	{"synchronise ignored", func(w *world) {
		// What was posted without the flag is judged as if it had it.
		for _, t := range w.talks {
			for _, e := range t.ends {
				hook.Decorate(w.net, e.host, e.qp.Number(), func(qp transport.QP) transport.QP {
					return &canary{QP: qp, packet: func(c *canary, now transport.Time, p *transport.Packet) transport.Verdict {
						for _, o := range e.peer().ops[:e.peer().posted] {
							o.flags |= verbs.Synchronise
						}
						return c.QP.HandlePacket(now, p)
					}}
				})
			}
		}
	}},
}

// seedsPerCanary bounds how long the fuzzer may take to find a planted bug. The rarest, that a request waits for the end of
// responses, shows in one of some hundred.
const seedsPerCanary = 2000

// TestPlantedBugsAreFound shows that the fuzzer is able to fail.
func TestPlantedBugsAreFound(t *testing.T) {
	onlyWithoutDetector(t)
	for _, c := range slices.Concat(canaries, keyCanaries, sharedCanaries, chatCanaries, gateCanaries) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for seed := uint64(1); seed <= seedsPerCanary; seed++ {
				f := runPlanted(seed, c.plant)
				if f == nil {
					continue
				}
				t.Logf("found by seed %d: %.200s", seed, f.Message)
				return
			}
			t.Errorf("not found in %d seeds", seedsPerCanary)
		})
	}
}
