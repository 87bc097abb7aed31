package sim

import (
	"errors"
	"testing"

	"github.com/braid-rdma/braid/sim/workload"
)

// slowStar is two hosts at a switch, by links of 10 Gb/s and 1 µs, that react to PFC frames
// after 1 µs. Host 1 receives slowly from the beginning, and 20 packets of 1 µs come to it.
func slowStar(t *testing.T, r Receiver, duration Time) *Network {
	t.Helper()
	n := newNetwork(t, star(2, 10*gbps), Config{Switch: SwitchConfig{PFC: PFC{On: true, Reaction: Microsecond}}})
	if err := n.SlowReceiver(0, 1, r, duration); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		inject(n, 0, 1, 1250, 3, 0)
	}
	return n
}

// TestSlowReceiverPauses checks when a slow receiver stops its switch, and when it lets it
// go. Packet k arrives at k+3 µs. The buffer takes 2.048 µs to drain one, so that packet j
// has left at 4 + 2.048 j µs. Packet 7, at 10 µs, finds that two have left: it is the fifth,
// 6250 bytes, and exceeds XOFF. The frame takes 67.2 ns and 1 µs, and the switch obeys at
// 12.0672 µs, when packet 11 has begun; that arrives at 14 µs, when four have left, and is
// the seventh: 8750 bytes, 3750 beyond XOFF. Two packets are left, which is 2500 below XOFF,
// when the ninth has been drained at 22.432 µs. XON is obeyed as late as XOFF was:
// the pause lasts 12.432 µs. If packet 11 is dropped, XON goes one packet earlier.
func TestSlowReceiverPauses(t *testing.T) {
	for _, test := range []struct {
		buffer   int
		dropped  uint64
		headroom int
		pause    Time
	}{
		{0, 0, 3750, 12_432 * Nanosecond},
		{8750, 0, 3750, 12_432 * Nanosecond},
		{8749, 1, 2500, (12_432 - 2_048) * Nanosecond},
	} {
		n := slowStar(t, Receiver{Rate: 4_882_812_500, Buffer: test.buffer, XOFF: 5000, Hysteresis: 2500}, 0)
		n.Run(25 * Microsecond)
		if err := n.Audit(); err != nil {
			t.Error(err)
		}
		l := n.Link(3)
		if l.Pauses != 1 || l.Paused != test.pause || l.Overrun != test.dropped || l.Headroom != test.headroom {
			t.Errorf("a buffer of %d: %d pauses of %v, %d packets dropped, %d bytes of headroom; want 1 of %v, %d, %d",
				test.buffer, l.Pauses, l.Paused, l.Overrun, l.Headroom, test.pause, test.dropped, test.headroom)
		}
		n.Run(Second)
		if got := n.hosts[1].unknown + n.Link(3).Overrun; got != 20 {
			t.Errorf("%d packets were received or dropped, want 20", got)
		}
		if err := n.AuditEnd(); err != nil {
			t.Error(err)
		}
	}
}

// TestStoppedReceiver checks that a receiver which does not drain holds what it has, stops
// its switch for as long as that lasts, and loses nothing. Four packets are 5000 bytes; the
// fifth, at 8 µs, makes it send XOFF, which is obeyed at 10.0672 µs: packet 9 has begun.
// XON goes at 1 ms: the pause lasts 992 µs.
func TestStoppedReceiver(t *testing.T) {
	n := slowStar(t, Receiver{XOFF: 5000}, Millisecond)
	n.Run(999 * Microsecond)
	if err := n.Audit(); err != nil {
		t.Error(err)
	}
	if got := n.hosts[1].nics[0].rare.receiver.queue.length(); got != 9 || n.hosts[1].unknown != 0 {
		t.Errorf("%d packets wait and %d were received, want 9 and 0", got, n.hosts[1].unknown)
	}
	n.Run(Second)
	if l := n.Link(3); l.Pauses != 1 || l.Paused != 992*Microsecond || n.hosts[1].unknown != 20 {
		t.Errorf("%d pauses of %v and %d packets received; want 1 of 992 µs and 20", l.Pauses, l.Paused, n.hosts[1].unknown)
	}
	if err := n.AuditEnd(); err != nil {
		t.Error(err)
	}
}

// slowFlow lets a flow run to a receiver of 2 Gb/s through a network of 10 Gb/s that does
// without marks.
func slowFlow(t *testing.T, workers int) ([]LinkResult, FlowResult) {
	t.Helper()
	cfg := Config{Seed: 1, Workers: workers, Switch: SwitchConfig{Buffer: 1 << 20, PFC: PFC{On: true, XOFF: 10 << 10}}}
	n := newNetwork(t, leafSpine(2, 2, 1), cfg)
	if err := n.SlowReceiver(0, 0, Receiver{Rate: 2 * gbps, Buffer: 40 << 10}, 0); err != nil {
		t.Fatal(err)
	}
	traffic := carry(t, n, paper, workload.Flow{Src: 2, Dst: 0, Bytes: 5_000_000})
	finish(t, n, traffic)
	return n.Links(), traffic.Result(0)
}

// TestSlowReceiverSpreads checks that a flow to a slow receiver has its rate, that nothing
// is lost, and that pauses reach the sender by way of both leaves. With two workers it is
// the same, byte by byte.
func TestSlowReceiverSpreads(t *testing.T) {
	links, flow := slowFlow(t, 1)
	if rate := float64(flow.Bytes) * 8 / flow.Duration().Seconds(); rate < 1.9e9 || rate > 2e9 {
		t.Errorf("the flow had %.2f Gb/s", rate/1e9)
	}
	for _, l := range links {
		if l.Dropped+l.Overrun != 0 {
			t.Errorf("%s: %d packets dropped", l.Name, l.Dropped+l.Overrun)
		}
		switch l.From + " " + l.To {
		case "leaf0 h0", "spine0 leaf0", "leaf1 spine0", "h2 leaf1":
			if l.Pauses == 0 {
				t.Errorf("%s was not stopped", l.Name)
			}
		}
	}
	again, _ := slowFlow(t, 2)
	for i := range links {
		if links[i] != again[i] {
			t.Errorf("with two workers %+v, with one %+v", again[i], links[i])
		}
	}
}

// TestSlowReceiverBesideStorm checks that a receiver that takes nothing and a storm of the same NIC do not let the
// switch go for each other: whichever ends first, it stays stopped until the other ends.
func TestSlowReceiverBesideStorm(t *testing.T) {
	for _, storm := range []Time{200 * Microsecond, 2 * Millisecond} {
		n := slowStar(t, Receiver{Buffer: 12500, XOFF: 5000}, Millisecond)
		if err := n.PauseStorm(20*Microsecond, 1, 3, storm); err != nil {
			t.Fatal(err)
		}
		n.Run(900 * Microsecond)
		if got := n.hosts[1].unknown; got != 0 {
			t.Errorf("a storm of %v: %d packets were received while the receiver took none", storm, got)
		}
		n.Run(1900 * Microsecond)
		want := uint64(20)
		if storm > Millisecond {
			want = 9 // those in the buffer: one beyond XOFF, and what came until the switch obeyed
		}
		if got := n.hosts[1].unknown; got != want {
			t.Errorf("a storm of %v: %d packets were received when the receiver took them, want %d", storm, got, want)
		}
		n.Run(3 * Millisecond)
		if got, lost := n.hosts[1].unknown, overruns(n); got != 20 || lost != 0 {
			t.Errorf("a storm of %v: %d packets were received in the end, and %d lost", storm, got, lost)
		}
	}
}

func overruns(n *Network) (packets uint64) {
	for _, l := range n.Links() {
		packets += l.Overrun
	}
	return packets
}

// TestSlowReceiverIsReplaced checks that a second slowness takes the place of the first,
// whose end then does nothing.
func TestSlowReceiverIsReplaced(t *testing.T) {
	n := slowStar(t, Receiver{}, 100*Microsecond)
	if err := n.SlowReceiver(50*Microsecond, 1, Receiver{}, Millisecond); err != nil {
		t.Fatal(err)
	}
	n.Run(49 * Microsecond)
	if got := n.hosts[1].unknown; got != 0 {
		t.Errorf("%d packets were received before", got)
	}
	inject(n, 0, 1, 1250, 3, 0)
	n.Run(200 * Microsecond)
	if got := n.hosts[1].unknown; got != 20 {
		t.Errorf("%d packets were received, want the 20 that the first held back", got)
	}
	n.Run(2 * Millisecond)
	if got := n.hosts[1].unknown; got != 21 {
		t.Errorf("%d packets were received in the end, want 21", got)
	}
}

func TestSlowReceiverRefuses(t *testing.T) {
	n := newNetwork(t, star(2, 10*gbps), Config{})
	for _, err := range []error{
		n.SlowReceiver(0, 2, Receiver{}, 0), n.SlowReceiver(0, -1, Receiver{}, 0), n.SlowReceiver(0, 0, Receiver{}, -1),
		n.SlowReceiver(0, 0, Receiver{Rate: -1}, 0), n.SlowReceiver(0, 0, Receiver{Buffer: -1}, 0), n.SlowReceiver(0, 0, Receiver{XOFF: 1 << 30}, 0),
	} {
		if !errors.Is(err, ErrConfig) {
			t.Errorf("got %v", err)
		}
	}
}
