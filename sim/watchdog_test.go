package sim

import (
	"errors"
	"testing"

	"github.com/braid-rdma/braid/sim/workload"
)

// TestWatchdogReports checks what a watchdog says of a host that stops its switch:
// which link, since when, and when it was over.
func TestWatchdogReports(t *testing.T) {
	cfg := Config{Seed: 1}
	cfg.Switch = SwitchConfig{PFC: PFC{On: true, Watchdog: Millisecond}}
	n := newNetwork(t, leafSpine(2, 2, 2), cfg)
	if err := n.PauseStorm(100*Microsecond, 0, 3, 10*Millisecond); err != nil {
		t.Fatal(err)
	}
	traffic := carry(t, n, wired, workload.Flow{Src: 2, Dst: 0, Bytes: 2_000_000})
	n.Run(5 * Millisecond)
	storms := n.Storms()
	if len(storms) != 1 || storms[0].Ended >= 0 {
		t.Fatalf("in mid-storm: %+v", storms)
	}
	finish(t, n, traffic)
	storms = n.Storms()
	if len(storms) != 1 {
		t.Fatalf("%+v", storms)
	}
	s := storms[0]
	if s.Link != "h0-leaf0<" || s.Priority != 3 {
		t.Errorf("the report names %s, priority %d", s.Link, s.Priority)
	}
	// The frame takes 67.2 ns and 1 µs to its switch, which reacts 2.408 µs later; XON may wait for an ACK.
	if s.Since != 103_475_200*Picosecond || s.Reported != s.Since+Millisecond || s.Ended < s.Since+10*Millisecond || s.Ended > s.Since+10001*Microsecond {
		t.Errorf("%+v", s)
	}
}

// TestWatchdogIgnoresCongestion checks that ordinary pauses are not reported.
func TestWatchdogIgnoresCongestion(t *testing.T) {
	cfg := Config{Seed: 1}
	cfg.Switch = SwitchConfig{Buffer: 1 << 20, PFC: PFC{On: true, XOFF: 8 << 10, Watchdog: 10 * Millisecond}}
	n := newNetwork(t, star(9, 10*gbps), cfg)
	finish(t, n, carry(t, n, paper, incast(8, 1_000_000)...))
	if s := n.Storms(); len(s) != 0 || total(n).Pauses == 0 {
		t.Errorf("%d pauses, reports %+v", total(n).Pauses, s)
	}
}

// TestStormWithoutWatchdog checks that a storm stops its priority only, and that
// what waited is delivered afterwards.
func TestStormWithoutWatchdog(t *testing.T) {
	cfg := Config{Seed: 1}
	cfg.Switch = SwitchConfig{PFC: PFC{On: true}}
	n := newNetwork(t, star(3, 10*gbps), cfg)
	if err := n.PauseStorm(0, 0, 3, 5*Millisecond); err != nil {
		t.Fatal(err)
	}
	traffic := carry(t, n, paper, workload.Flow{Src: 1, Dst: 0, Bytes: 100_000}, workload.Flow{Src: 2, Dst: 0, Bytes: 100_000, Priority: 5})
	finish(t, n, traffic)
	if stopped, other := traffic.Result(0).Finished, traffic.Result(1).Finished; stopped < 5*Millisecond || other > Millisecond {
		t.Errorf("the stopped class finished at %v, the other at %v", stopped, other)
	}
}

func TestPauseStormRefuses(t *testing.T) {
	n := newNetwork(t, star(2, 10*gbps), Config{})
	for _, err := range []error{n.PauseStorm(0, 2, 3, 0), n.PauseStorm(0, -1, 3, 0), n.PauseStorm(0, 0, 8, 0), n.PauseStorm(0, 0, 3, -1)} {
		if !errors.Is(err, ErrConfig) {
			t.Errorf("answers %v", err)
		}
	}
}
