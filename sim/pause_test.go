package sim

import (
	"runtime"
	"slices"
	"testing"

	"github.com/braid-rdma/braid/sim/workload"
)

// arriveWhenStopped stops host 0 of a star at once, for a number of quanta, and
// returns when a packet from there arrives at host 1; never if it does not.
func arriveWhenStopped(t *testing.T, quanta uint16, again Time) Time {
	t.Helper()
	n := newNetwork(t, star(2, 10*gbps), Config{Seed: 1})
	toHost := n.lanes[0].peer.twin // the switch's port towards host 0
	toHost.control(pauseOff, 3, quanta)
	if again > 0 {
		toHost.node.call(again, func() { toHost.control(pauseOff, 3, quanta) })
	}
	n.Run(4 * Microsecond)
	inject(n, 0, 1, 1250, 3, 0)
	if at := arrivals(n, 1); len(at) == 1 {
		return at[0]
	}
	return never
}

// TestPauseEndsByItself checks that a pause lasts as long as its frame says.
func TestPauseEndsByItself(t *testing.T) {
	const (
		arrives = Microsecond + 67_200*Picosecond + DefaultReaction // the frame's length, the link, and the host's time to obey
		quantum = 51_200 * Picosecond                               // 512 bits at 10 Gb/s
		travel  = 4 * Microsecond                                   // two links, 1250 bytes each
	)
	for _, test := range []struct {
		name   string
		quanta uint16
		again  Time
		want   Time
	}{
		{"short", 100, 0, arrives + 100*quantum + travel},
		{"longest", 65535, 0, arrives + 65535*quantum + travel},
		{"prolonged", 100, 4 * Microsecond, arrives + 4*Microsecond + 100*quantum + travel},
		{"endless", 0, 0, never},
	} {
		if got := arriveWhenStopped(t, test.quanta, test.again); got != test.want {
			t.Errorf("%s: the packet arrived at %v, want %v", test.name, got, test.want)
		}
	}
}

// TestPauseIsRefreshed checks that who stays stopped is told again: a storm that is
// six times as long as a pause can be is one pause.
func TestPauseIsRefreshed(t *testing.T) {
	n := newNetwork(t, star(2, 10*gbps), Config{Seed: 1})
	if err := n.PauseStorm(Microsecond, 0, 3, 20*Millisecond); err != nil {
		t.Fatal(err)
	}
	n.Run(Second)
	if l := n.Link(1); l.Pauses != 1 || l.Paused != 20*Millisecond || l.Expired != 0 {
		t.Errorf("stopped %d times for %v, %d times without XON", l.Pauses, l.Paused, l.Expired)
	}
	if err := n.AuditEnd(); err != nil {
		t.Error(err)
	}
}

// lossyPauses is an incast through a switch that stops its senders early and often,
// over links that lose PFC frames.
func lossyPauses(t *testing.T, quanta int, i Impairment) (*Network, *Traffic) {
	t.Helper()
	cfg := Config{Seed: 1}
	cfg.Switch = SwitchConfig{Buffer: 1 << 20, PFC: PFC{On: true, XOFF: 8 << 10, Quanta: quanta}}
	n := newNetwork(t, star(9, 10*gbps), cfg)
	for host := range 9 {
		impair(t, n, 0, n.graph.Links[host].Name, Both, i)
	}
	traffic := carry(t, n, wired, incast(8, 1_000_000)...)
	n.Run(20 * Second)
	return n, traffic
}

// TestLostPFCFrames checks that the network survives the loss of XOFF and XON: what
// is not let go resumes when its pause is over, what is not stopped is stopped by the
// next frame or loses packets, which are sent again. Where pauses are endless, lost
// XON frames are the end.
func TestLostPFCFrames(t *testing.T) {
	for name, i := range map[string]Impairment{
		"lost":     {Loss: 0.3, Pauses: true},
		"in turn":  {LossEvery: 2, Pauses: true},
		"damaged":  {Corrupt: 0.3, Pauses: true},
		"bursts":   {Burst: Burst{Enter: 0.1, Leave: 0.2}, Pauses: true},
		"overtake": {Jitter: 200 * Microsecond, Pauses: true},
	} {
		n, traffic := lossyPauses(t, 0, i)
		checkDone(t, traffic)
		if err := n.AuditEnd(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		lost, expired := uint64(0), uint64(0)
		for _, l := range n.Links() {
			lost += l.PausesLost
			expired += l.Expired
			if l.Lost+l.Damaged != 0 {
				t.Errorf("%s: %s lost %d packets and damaged %d", name, l.Name, l.Lost, l.Damaged)
			}
		}
		if expired == 0 || (lost == 0) != (name == "overtake") {
			t.Errorf("%s: %d frames lost, %d pauses ended by themselves", name, lost, expired)
		}
	}
	if _, traffic := lossyPauses(t, EndlessPause, Impairment{LossEvery: 2, Pauses: true}); traffic.Unfinished() == 0 && traffic.Result(0).Err == nil {
		t.Error("endless pauses survive the loss of XON")
	}
}

// TestFaultsSparePFCFrames checks that an impairment which does not name PFC frames
// leaves them alone, and that one which does delays them too.
func TestFaultsSparePFCFrames(t *testing.T) {
	const arrives = Microsecond + 67_200*Picosecond + DefaultReaction
	for _, test := range []struct {
		name string
		i    Impairment
		want Time
	}{
		{"spared", Impairment{Down: true, Delay: 7 * Microsecond}, arrives},
		{"delayed", Impairment{Delay: 7 * Microsecond, Pauses: true}, arrives + 7*Microsecond},
		{"cut", Impairment{Down: true, Pauses: true}, never},
	} {
		n := newNetwork(t, star(2, 10*gbps), Config{Seed: 1})
		impair(t, n, 0, "ha-sw", Forth, test.i)
		if err := n.PauseStorm(0, 0, 3, 100*Microsecond); err != nil {
			t.Fatal(err)
		}
		at := never
		for n.step() {
			if n.lanes[1].paused != 0 {
				at = min(at, n.Now())
			}
		}
		if at != test.want {
			t.Errorf("%s: stopped at %v, want %v", test.name, at, test.want)
		}
	}
	if arrived, l := shower(t, 1000, Impairment{Loss: 1, Pauses: true}, 0); arrived != 1000 || l.Lost != 0 {
		t.Errorf("an impairment of PFC frames lost %d packets", l.Lost)
	}
}

// TestStormEndsWithItsHost checks that a watchdog takes a link back when the host that
// stopped it falls silent and its last pause is over.
func TestStormEndsWithItsHost(t *testing.T) {
	cfg := Config{Seed: 1}
	cfg.Switch = SwitchConfig{PFC: PFC{On: true, Watchdog: Millisecond}}
	n := newNetwork(t, star(2, 10*gbps), cfg)
	if err := n.PauseStorm(0, 0, 3, 0); err != nil {
		t.Fatal(err)
	}
	impair(t, n, 10*Millisecond, "ha-sw", Forth, Impairment{Down: true, Pauses: true})
	carry(t, n, wired, workload.Flow{Src: 1, Dst: 0, Message: 1 << 16})
	n.Run(20 * Millisecond)
	// A pause at 10 Gb/s is 3.36 ms, and was said again at half of it.
	if s := n.Storms(); len(s) != 1 || s[0].Ended < 11*Millisecond || s[0].Ended > 14*Millisecond {
		t.Errorf("%+v", s)
	}
}

// TestPausesDoNotAllocate stops senders thousands of times.
func TestPausesDoNotAllocate(t *testing.T) {
	cfg := Config{Seed: 1}
	cfg.Switch = SwitchConfig{Buffer: 1 << 20, PFC: PFC{On: true, XOFF: 8 << 10}}
	n := newNetwork(t, star(9, 10*gbps), cfg)
	flows := incast(8, 1)
	for i := range flows {
		flows[i].Bytes, flows[i].Message = 0, 1<<16
	}
	carry(t, n, paper, flows...)
	n.Run(20 * Millisecond)
	var before, after runtime.MemStats
	pauses := total(n).Pauses
	runtime.ReadMemStats(&before)
	n.Run(60 * Millisecond)
	runtime.ReadMemStats(&after)
	pauses = total(n).Pauses - pauses
	if allocs := after.Mallocs - before.Mallocs; pauses < 2000 || allocs*50 > pauses {
		t.Errorf("%d allocations over %d pauses", allocs, pauses)
	}
}

// TestPauseFramesTakeTheLink checks that a PFC frame waits for the packet that is being
// sent, that it is sent before the next one, which then is later by the frame's 84 bytes
// (67.2 ns at 10 Gb/s), and that frames follow each other.
func TestPauseFramesTakeTheLink(t *testing.T) {
	const frame = 67_200 * Picosecond
	cfg := Config{}
	cfg.Switch.PFC.Reaction = 300 * Nanosecond
	n := newNetwork(t, star(2, 10*gbps), cfg)
	for range 3 {
		inject(n, 0, 1, 1250, 3, 0) // 1 µs each
	}
	nic := n.hosts[0].nics[0]
	n.hosts[0].call(500*Nanosecond, func() {
		nic.control(pauseOff, 5, 100)
		nic.control(pauseOff, 6, 100)
	})
	stopped := map[uint8]Time{}
	var at []Time
	for seen := uint64(0); n.step(); {
		for _, priority := range []uint8{5, 6} {
			if _, ok := stopped[priority]; !ok && n.lanes[1].paused&(1<<priority) != 0 {
				stopped[priority] = n.Now()
			}
		}
		for ; seen < n.hosts[1].unknown; seen++ {
			at = append(at, n.Now())
		}
	}
	// The first packet ends at 1 µs. The frames end 67.2 and 134.4 ns later, travel 1 µs and
	// are obeyed after 300 ns.
	if a, b := stopped[5], stopped[6]; a != 2300*Nanosecond+frame || b != a+frame {
		t.Errorf("stopped at %v and %v, want %v and %v", a, b, 2300*Nanosecond+frame, 2300*Nanosecond+2*frame)
	}
	// Packets take 1 µs on each of two links of 1 µs; the second waited for two frames.
	if want := []Time{4 * Microsecond, 5*Microsecond + 2*frame, 6*Microsecond + 2*frame}; !slices.Equal(at, want) {
		t.Errorf("packets arrived at %v, want %v", at, want)
	}
}
