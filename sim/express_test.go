package sim

import (
	"errors"
	"testing"

	"github.com/braid-rdma/braid/sim/workload"
	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
	"github.com/braid-rdma/braid/wire"
)

// stoppedReceiver lets two hosts send to a third over RC, whose NIC is stopped for
// priority 3 all the time, and returns how many notices and acknowledgements left it,
// and by which priority.
func stoppedReceiver(t *testing.T, e Express) (notices, acks map[uint8]int) {
	t.Helper()
	cfg := Config{Seed: 1, Express: e}
	cfg.Switch = SwitchConfig{PFC: PFC{On: true}, Marking: Marking{Kmin: 10_000, Kmax: 10_000, Pmax: 1}}
	n := newNetwork(t, star(3, 10*gbps), cfg)
	notices, acks = map[uint8]int{}, map[uint8]int{}
	i, _ := n.LinkNumber("hc", "sw")
	n.lanes[i].tap = func(_ Time, p *packet) {
		switch p.Opcode {
		case wire.CNP:
			notices[p.priority]++
		case wire.Acknowledge:
			acks[p.priority]++
		}
	}
	n.lanes[i].peer.twin.control(pauseOff, 3, 0)
	rc := verbs.QPOptions{Type: verbs.RC, RC: transport.RCOptions{Notices: transport.PolledNotices}}
	carry(t, n, rc, workload.Flow{Src: 0, Dst: 2, Bytes: 1_000_000, Message: 10_000}, workload.Flow{Src: 1, Dst: 2, Bytes: 1_000_000, Message: 10_000})
	n.Run(500 * Microsecond)
	return notices, acks
}

// TestExpressIgnoresPauses checks who passes a NIC that is stopped.
func TestExpressIgnoresPauses(t *testing.T) {
	for _, test := range []struct {
		name          string
		express       Express
		notices, acks bool
	}{
		{"none", Express{}, false, false},
		{"notices", Express{Priority: 7}, true, false},
		{"notices and acknowledgements", Express{Priority: 7, Acks: true}, true, true},
	} {
		notices, acks := stoppedReceiver(t, test.express)
		if got := notices[7] > 0; got != test.notices || notices[3] > 0 {
			t.Errorf("%s: notices by priority %v", test.name, notices)
		}
		if got := acks[7] > 0; got != test.acks || acks[3] > 0 {
			t.Errorf("%s: acknowledgements by priority %v", test.name, acks)
		}
	}
}

// TestExpressOvertakesInSwitches lets a packet of the express class arrive behind a
// long queue.
func TestExpressOvertakesInSwitches(t *testing.T) {
	n := newNetwork(t, star(3, 10*gbps), Config{Seed: 1, Express: Express{Priority: 7}})
	for range 100 {
		inject(n, 0, 2, 1000, 3, 0)
		inject(n, 1, 2, 1000, 3, 0)
	}
	n.Run(40 * Microsecond)
	inject(n, 0, 2, 84, 7, 0)
	i, _ := n.LinkNumber("sw", "hc")
	var left []uint8
	n.lanes[i].tap = func(_ Time, p *packet) { left = append(left, p.priority) }
	n.Run(Second)
	for k, priority := range left {
		if priority == 7 {
			if k > 5 {
				t.Errorf("it left after %d packets that were there before", k)
			}
			return
		}
	}
	t.Error("it did not leave")
}

// TestExpressIsNotPaused checks that PFC leaves the class out, whatever it covers.
func TestExpressIsNotPaused(t *testing.T) {
	for lossless, want := range map[uint8]uint8{0: 0x7f, 0x88: 0x08, 0x08: 0x08} {
		c := PFC{On: true, Lossless: lossless}
		c.spare(Express{Priority: 7})
		if got := c.covered(); got != want {
			t.Errorf("of %08b PFC covers %08b, want %08b", lossless, got, want)
		}
	}
}

// TestExpressFindsRoom checks that the class has what is left of a buffer that others have filled, and that the books
// take that for right.
func TestExpressFindsRoom(t *testing.T) {
	cfg := Config{Seed: 1, Express: Express{Priority: 7}}
	cfg.Switch = SwitchConfig{Buffer: 256 << 10, PFC: PFC{On: true, Lossless: 1 << 3}}
	n := newNetwork(t, star(2, gbps), cfg)
	var s *fabricSwitch
	for _, s = range n.switches {
		if s != nil {
			break
		}
	}
	fill := func(p packet) (packets int) {
		for s.admit(s.ins[0], s.ports[1].queue(p.priority), &p) {
			packets++
		}
		return packets
	}
	if lossy, notices := fill(packet{priority: 1, size: 1000}), fill(packet{priority: 7, size: 100, express: true}); lossy == 0 || notices == 0 {
		t.Errorf("%d packets and %d notices found room", lossy, notices)
	}
	if s.shared <= s.pool || s.used > s.total {
		t.Errorf("%d bytes of %d are shared, %d of %d used", s.shared, s.pool, s.used, s.total)
	}
	if err := s.auditParts(); err != nil {
		t.Error(err)
	}
}

func TestExpressRefused(t *testing.T) {
	g, err := star(2, gbps).Build()
	if err != nil {
		t.Fatal(err)
	}
	for _, priority := range []int{-1, 3, priorities} {
		if _, err := New(g, Config{Express: Express{Priority: priority}}); !errors.Is(err, ErrConfig) {
			t.Errorf("priority %d: %v", priority, err)
		}
	}
}
