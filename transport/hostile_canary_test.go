package transport

import "testing"

// meddler is a queue pair of the device with a planted bug.
type meddler struct {
	QP
	handle func(p *Packet) (deliver bool)
}

func (m *meddler) HandlePacket(now Time, p *Packet) Verdict {
	if !m.handle(p) {
		return Drop
	}
	return m.QP.HandlePacket(now, p)
}

// hostileBugs are bugs that a liar, or its neighbours, must notice.
var hostileBugs = []struct {
	name  string
	plant func(w *hostileWorld)
}{
	{"a wrong key opens the memory of another", func(w *hostileWorld) {
		w.device.guarded.opens = w.clients[0].window
	}},
	{"a packet claims many receives", func(w *hostileWorld) {
		p := w.device.hostile
		p.qp = &meddler{p.qp, func(*Packet) bool {
			claimReceives(p.qp, 200)
			return true
		}}
	}},
	{"receives are not given back", func(w *hostileWorld) {
		p, taken := w.device.hostile, false
		p.qp = &meddler{p.qp, func(*Packet) bool {
			if !taken {
				w.device.srq.wqes.pop()
			}
			taken = true
			return true
		}}
	}},
	{"a packet looks memory up again and again", func(w *hostileWorld) {
		p := w.device.hostile
		p.qp = &meddler{p.qp, func(*Packet) bool {
			for range 10 {
				w.device.guarded.Resolve(1, w.device.open.RKey, w.device.open.Base, 1, RemoteRead)
			}
			return true
		}}
	}},
	{"a packet of the liar costs a neighbour one of its own", func(w *hostileWorld) {
		liar, neighbour := w.device.hostile, w.clients[0].far
		due := 0
		liar.qp = &meddler{liar.qp, func(*Packet) bool { due = 1; return true }}
		neighbour.qp = &meddler{neighbour.qp, func(*Packet) bool {
			drop := due > 0
			due = 0
			return !drop
		}}
	}},
	{"an old acknowledgement moves the sender", func(w *hostileWorld) {
		p := w.device.hostile
		p.qp = &meddler{p.qp, func(packet *Packet) bool {
			believeWindow(p.qp, packet)
			return true
		}}
	}},
}

// TestHostileCanaries shows that the checks find bugs.
func TestHostileCanaries(t *testing.T) {
	for _, bug := range hostileBugs {
		t.Run(bug.name, func(t *testing.T) {
			t.Parallel()
			const within = 40
			for seed := uint64(1); seed <= within; seed++ {
				sc := newHostileScenario(seed)
				if seed%2 == 0 {
					// A liar that only repeats acknowledgements, and tells the truth besides.
					sc.rc, sc.truth, sc.lies = false, 1, []*lie{repeatsAcks}
				}
				if err := runHostilePlanted(sc, bug.plant); err != nil {
					t.Logf("found by seed %d: %.200v", seed, err)
					return
				}
			}
			t.Errorf("not found within %d seeds", within)
		})
	}
}
