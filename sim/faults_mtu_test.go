package sim

import (
	"errors"
	"testing"

	"github.com/braid-rdma/braid/sim/workload"
	"github.com/braid-rdma/braid/verbs"
)

// Row 42: ends that want different MTUs agree on the smaller; a path that drops long
// packets is not used; and where all do, the program is told.
func mtuFaults(t *testing.T) {
	t.Run("mismatch", mtuMismatch)
	t.Run("black hole on one path", mtuBlackHoleOnOnePath)
	t.Run("black hole on all paths", mtuBlackHole)
}

func mtuMismatch(t *testing.T) {
	for name, qp := range everyKind {
		n := newNetwork(t, paths(2, 10*gbps, 10*gbps), Config{Seed: 1, Verify: true})
		a := newSide(t, n, 0, qp)
		qp.Conn.MTU = 256
		b := newSide(t, n, 1, qp)
		a.must(a.qp.Connect(b.qp.Params()))
		b.must(b.qp.Connect(a.qp.Params()))
		copy(a.mr.Bytes(), "hello")
		a.request(verbs.SendWR{Op: verbs.OpWrite, SGEs: []verbs.SGE{a.mr.SGE(0, 5000)}, RemoteAddr: b.mr.Addr(), RKey: b.mr.RKey()})
		if sent := a.qp.Stats().PacketsSent; sent != 20 || string(b.mr.Bytes()[:5]) != "hello" {
			t.Errorf("%s: 5000 bytes took %d packets, want 20", name, sent)
		}
	}
}

// mtuBlackHoleOnOnePath lets one path of four begin to lose long packets in
// mid-transfer. Short ones still pass, so that probes find nothing wrong with it, and
// the last packets of the transfer may be sent there time and again.
func mtuBlackHoleOnOnePath(t *testing.T) {
	const bytes, bound = 10 << 20, Second
	for name, qp := range map[string]verbs.QPOptions{"paper": paper, "wire": wired} {
		for seed := range uint64(12) {
			n := newNetwork(t, paths(4, 1*gbps, 4*gbps), Config{Seed: seed})
			impair(t, n, 5*Millisecond, "tor0-path2", Forth, Impairment{MaxPacket: 1500})
			traffic := carry(t, n, qp, workload.Flow{Src: 0, Dst: 1, Bytes: bytes, Message: 1 << 16})
			n.Run(100 * Second)
			checkDone(t, traffic)
			if r := traffic.Result(0); total(n).Lost == 0 || r.Duration() > bound {
				t.Errorf("%s, seed %d: %d packets lost, completed after %v with %d timeouts", name, seed, total(n).Lost, r.Duration(), r.Timeouts)
			}
		}
	}
}

// mtuBlackHole has no path for long packets: short messages pass, a long one fails
// within the time that the retries take, and a new connection with a smaller MTU
// carries it.
func mtuBlackHole(t *testing.T) {
	// Eight timeouts of 67 ms (RC), or of at most a second each (MP).
	bound := map[string]Time{"RC": Second, "MP wire": 8 * Second, "MP paper": 8 * Second}
	for name, qp := range everyKind {
		n := newNetwork(t, paths(2, 10*gbps, 10*gbps), Config{Seed: 1, Verify: true})
		everyPath(2, func(link string) { impair(t, n, 0, link, Both, Impairment{MaxPacket: 1500}) })
		n.Run(1)
		a, b := pair(t, n, qp)
		write := func(length int) error {
			wr := verbs.SendWR{Op: verbs.OpWrite, Flags: verbs.Signaled, SGEs: []verbs.SGE{a.mr.SGE(0, length)}, RemoteAddr: b.mr.Addr(), RKey: b.mr.RKey()}
			a.must(a.qp.PostSend(&wr))
			var c [1]verbs.Completion
			_, err := a.cq.Wait(t.Context(), c[:])
			a.must(err)
			return c[0].Err()
		}
		if err := write(1000); err != nil {
			t.Errorf("%s: a short message: %v", name, err)
		}
		start := n.Now()
		err := write(10_000)
		t.Logf("%s: %v after %v", name, err, n.Now()-start)
		if took := n.Now() - start; !errors.Is(err, verbs.ErrRetryExceeded) || took > bound[name] {
			t.Errorf("%s: a long message ended with %v after %v", name, err, took)
		}
		qp.Conn.MTU = 1024
		a, b = pair(t, n, qp)
		if err := write(10_000); err != nil {
			t.Errorf("%s: with a smaller MTU: %v", name, err)
		}
	}
}
