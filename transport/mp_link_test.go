package transport

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// mpLink is two MP queue pairs back to back: a network without delay and
// loss, for what is about the queue pairs and not about the network.
type mpLink struct {
	t      testing.TB
	a, b   *MP
	mem    mpMemory
	source *Region // at a
	target *Region // at b
	now    Time
	packet Packet
	buffer [MaxMTU]byte
	mark   func(*Packet) bool
}

func newMPLink(t testing.TB, o MPOptions) *mpLink {
	t.Helper()
	mem := mpMemory{newTestMemory()}
	l := &mpLink{
		t: t, mem: mem, now: Second, mark: func(*Packet) bool { return false },
		source: mem.register(mpPD, 1<<20, LocalWrite),
		target: mem.register(mpPD, 1<<20, LocalWrite|RemoteWrite|RemoteRead|RemoteAtomic),
	}
	attr := mpAttr()
	attr.MTU, attr.Paths = MaxMTU, 8
	l.a = connectMP(t, l.now, mpConfig(mem, o, 1), attr)
	attr.SendPSN, attr.RecvPSN = attr.RecvPSN, attr.SendPSN
	l.b = connectMP(t, l.now, mpConfig(mem, o, 2), attr)
	return l
}

// step lets a microsecond pass and everything that waits be delivered.
func (l *mpLink) step() {
	l.now += Microsecond
	for _, m := range [...]*MP{l.a, l.b} {
		if m.Timeout() <= l.now {
			m.HandleTimeout(l.now)
		}
	}
	l.deliver(l.a, l.b)
	l.deliver(l.b, l.a)
}

// deliver does what an engine does on both sides.
func (l *mpLink) deliver(from, to *MP) {
	p := &l.packet
	for from.PollTransmit(l.now, p) {
		payload := l.buffer[:0]
		for _, s := range p.Spans {
			payload = append(payload, s.Bytes()...)
		}
		p.Marked = l.mark(p)
		if to.HandlePacket(l.now, p) == Place {
			for _, s := range p.Spans {
				payload = payload[copy(s.Bytes(), payload):]
			}
		}
	}
}

// run posts a request at a and steps until it completes there.
func (l *mpLink) run(wr *SendWR) {
	if err := l.a.PostSend(l.now, wr); err != nil {
		l.t.Fatal(err)
	}
	var c Completion
	for range 100000 {
		l.step()
		for l.b.PollCompletion(&c) {
		}
		if l.a.PollCompletion(&c) {
			if c.Status != Success {
				l.t.Fatalf("%v: %v", wr.Op, c.Status)
			}
			return
		}
	}
	l.t.Fatalf("%v never completes", wr.Op)
}

// transfer writes n bytes and compares them.
func (l *mpLink) transfer(seed byte, n int) {
	l.t.Helper()
	copy(l.source.Bytes, pattern(seed, n))
	l.run(&SendWR{Op: OpWrite, Flags: Signaled, SGEs: []SGE{l.source.span(0, n)}, RemoteAddr: l.target.Base, RKey: l.target.RKey})
	if !bytes.Equal(l.target.Bytes[:n], pattern(seed, n)) {
		l.t.Fatal("wrong bytes")
	}
}

// Both seams can be swapped on a live connection, in the middle of a message.
func TestMPSwapPolicyAndControl(t *testing.T) {
	for mode, o := range map[string]MPOptions{"paper": PaperOptions(), "wire": WireOptions()} {
		t.Run(mode, func(t *testing.T) {
			l := newMPLink(t, o)
			r := rand.New(rand.NewPCG(1, 1))
			steps := 0
			l.mark = func(*Packet) bool {
				if steps++; steps%37 == 0 {
					name := []string{"single", "round robin", "spray", "ACK clock"}[r.IntN(4)]
					l.a.SetPolicy(policies[name](8, &o, r))
					if r.IntN(2) == 0 {
						l.a.SetCongestionControl(NewFixedWindow(&o))
					} else {
						l.a.SetCongestionControl(NewMPWindow(&o))
					}
				}
				return steps%11 == 0
			}
			for i := range 10 {
				l.transfer(byte(i), 1<<20)
			}
			if got := l.a.Counters().LocalAckTimeoutErr; got != 0 {
				t.Errorf("%d timeouts", got)
			}
		})
	}
}

// A new policy does not use the paths that were retired before it came.
func TestMPNewPolicyKnowsRetiredPaths(t *testing.T) {
	q := retirePath2(t)
	q.forget()
	q.mp.SetPolicy(NewRoundRobin(4, q.mp.opt, q.mp.cfg.Rand))
	q.write(100)
	q.ack(q.peerNext[requests])
	q.carry(100, func(p *Packet) bool {
		if p.Path == 2 {
			t.Fatal("the new policy uses the retired path")
		}
		return false
	})
}

// The same operations with every policy and control. A transfer without gaps is
// a single flowlet.
func TestMPEveryPolicyTransfers(t *testing.T) {
	for name, policy := range policies {
		for _, control := range []func(*MPOptions) CongestionControl{NewMPWindow, NewFixedWindow, NewDCTCP} {
			o := WireOptions()
			o.Policy, o.Control = policy, control
			l := newMPLink(t, o)
			l.transfer(3, 1<<20)
			used := 0
			for _, p := range l.a.Paths() {
				if p.Sent > 0 {
					used++
				}
			}
			if (name == "single" || name == "flowlet") != (used == 1) {
				t.Errorf("%s used %d paths", name, used)
			}
		}
	}
}
