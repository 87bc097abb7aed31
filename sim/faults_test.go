package sim

import (
	"testing"

	"github.com/braid-rdma/braid/sim/topology"
	"github.com/braid-rdma/braid/sim/workload"
	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

// onlyWithoutDetector skips long tests of what one thread does, which has nothing to race with.
func onlyWithoutDetector(t *testing.T) {
	t.Helper()
	if raceEnabled {
		t.Skip("one thread runs these networks, so there is nothing to race with; the plain tests run them")
	}
}

// TestFaults runs the rows of docs/faults.md that a network can show, each with
// the promise that it checks. Rows 13, 14 and 16 are about bytes and packets that
// no peer of ours sends: truncated, malformed, or 2^24 packets old. They are
// checked in wire, transport and udp, where such packets can be made.
func TestFaults(t *testing.T) {
	onlyWithoutDetector(t)
	rows := []struct {
		name string
		run  func(*testing.T)
	}{
		{"row01_uniform_loss", uniformLoss},
		{"row02_bursts", burstLoss},
		{"row03_every_256th", everyNthLost},
		{"row04_tail_loss", tailLoss},
		{"row05_all_retransmissions_lost", retransmissionsLost},
		{"row06_acks_or_data_lost", onlyOneKindLost},
		{"row07_reordering", reordering},
		{"row08_slow_path", slowPath},
		{"row09_duplicates", duplicates},
		{"row10_responses_lost", responsesLost},
		{"row11_bit_flips", bitFlips},
		{"row12_masked_fields", maskedFields},
		{"row15_packet_numbers_wrap", numbersWrap},
		{"row17_old_packets", oldPackets},
		{"row18_old_acknowledgements", oldAcknowledgements},
		{"row35_blackhole", blackhole},
		{"row36_one_way_blackhole", oneWayBlackhole},
		{"row37_all_paths_dead", allPathsDead},
		{"row38_flapping", flapping},
		{"row39_degraded_link", degradedLink},
		{"row39_most_links_degraded", mostLinksDegraded},
		{"row40_silent_loss", silentLoss},
		{"row41_marking_misconfigured", markingMisconfigured},
		{"row42_mtu", mtuFaults},
		{"row43_pause_storm", pauseStorm},
		{"row44_pfc_deadlock", pfcDeadlock},
		{"row45_incast", incastRows},
		{"row46_polarisation", polarisation},
	}
	for _, row := range rows {
		t.Run(row.name, row.run)
	}
}

// paths is a sender and a receiver with several paths of one rate between them,
// 10 µs long each way; the paths' links are tor0-path1, path1-tor1 and so on.
func paths(count int, rate, hostRate int64) topology.ParallelPaths {
	p := topology.ParallelPaths{Senders: 1, HostRate: hostRate, HostDelay: topology.Microsecond, PathDelay: 4 * topology.Microsecond, MiddleSwitches: true}
	for range count {
		p.Rates = append(p.Rates, rate)
	}
	return p
}

// everyPath calls f with the first link of each path.
func everyPath(count int, f func(link string)) {
	for i := range count {
		f("tor0-path" + string(rune('1'+i)))
	}
}

// stream is an endless flow from host 0 to host 1.
func stream(t *testing.T, n *Network, qp verbs.QPOptions) *Traffic {
	t.Helper()
	return carry(t, n, qp, workload.Flow{Src: 0, Dst: 1, Message: 1 << 16})
}

// goodput runs a network up to an instant and returns what flow 0 got meanwhile,
// in bits per second.
func goodput(n *Network, traffic *Traffic, until Time) float64 {
	from, before := n.Now(), traffic.Acked(0)
	n.Run(until)
	return float64(traffic.Acked(0)-before) * 8 / (until - from).Seconds()
}

// transferTime is how long bytes take at a rate in bits per second.
func transferTime(bytes int64, rate float64) Time {
	return Time(float64(bytes) * 8 / rate * float64(Second))
}

// longestStall runs a network in slices up to an instant and returns the longest
// time without progress of flow 0.
func longestStall(n *Network, traffic *Traffic, slice, until Time) (longest Time) {
	last, acked := n.Now(), traffic.Acked(0)
	for at := n.Now() + slice; at < until; at += slice {
		n.Run(at)
		if now := traffic.Acked(0); now != acked {
			last, acked = at, now
		}
		longest = max(longest, at-last)
	}
	return longest
}

// Row 1: everything completes, goodput falls gradually, and retries do not run
// out (RC and the paper's mode: up to 10 %).
func uniformLoss(t *testing.T) {
	for _, kind := range []struct {
		name string
		qp   verbs.QPOptions
		most float64
		// floor is the least share of the rate at each loss.
		floor map[float64]float64
	}{
		{"MP wire", wired, 0.3, map[float64]float64{0.0001: 0.8, 0.001: 0.6, 0.01: 0.2}},
		{"MP paper", paper, 0.1, map[float64]float64{0.0001: 0.6}},
		{"RC", rc, 0.1, map[float64]float64{0.0001: 0.5}},
	} {
		for _, loss := range []float64{0.0001, 0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.3} {
			if loss > kind.most {
				continue
			}
			n := newNetwork(t, paths(2, 5*gbps, 10*gbps), Config{Seed: 1, Verify: true})
			everyPath(2, func(link string) { impair(t, n, 0, link, Both, Impairment{Loss: loss}) })
			traffic := carry(t, n, kind.qp, workload.Flow{Src: 0, Dst: 1, Bytes: 1_500_000, Message: 1 << 16})
			finish(t, n, traffic)
			r := traffic.Result(0)
			rate := r.Goodput(0) / 1e10
			if kind.qp.Type == verbs.RC {
				rate *= 2 // it has one of the two paths
			}
			t.Logf("%s, loss %v: %.2f of the rate, %d timeouts", kind.name, loss, rate, r.Timeouts)
			if rate < kind.floor[loss] {
				t.Errorf("%s, loss %v: %.2f of the rate, want %.2f", kind.name, loss, rate, kind.floor[loss])
			}
		}
	}
}

// Row 2: as row 1, and no stall is longer than two timeouts. Packets are spread
// one by one: runs of packets on one path, which UDP_SEGMENT likes, let a whole
// flight meet a bad path, and several timeouts can follow each other.
func burstLoss(t *testing.T) {
	qp := wired
	qp.MP.Run = 1
	for _, length := range []float64{3, 32, 256} {
		n := newNetwork(t, paths(2, 5*gbps, 10*gbps), Config{Seed: 1})
		impair(t, n, 0, "tor0-path1", Both, Impairment{Burst: Burst{Enter: 0.0005, Leave: 1 / length}})
		traffic := stream(t, n, qp)
		stall := longestStall(n, traffic, 500*Microsecond, 100*Millisecond)
		lost := total(n).Lost
		t.Logf("bursts of %v: %d lost, longest stall %v", length, lost, stall)
		if lost == 0 || stall > 2*20*Millisecond {
			t.Errorf("bursts of %v: %d lost, a stall of %v", length, lost, stall)
		}
	}
}

// Row 3: there is progress all the time. Going back to the first packet of the
// message, as early NICs did, is the livelock that the row is about; it shows
// that the test is able to fail.
func everyNthLost(t *testing.T) {
	restart := rc
	restart.RC.Recovery = transport.GoBackZero
	for name, qp := range map[string]verbs.QPOptions{"MP wire": wired, "MP paper": paper, "RC": rc, "go-back-0": restart} {
		n := newNetwork(t, paths(1, 10*gbps, 10*gbps), Config{Seed: 1, MTU: 1024})
		impair(t, n, 0, "tor0-path1", Forth, Impairment{LossEvery: 256})
		traffic := carry(t, n, qp, workload.Flow{Src: 0, Dst: 1, Bytes: 4 << 20, Message: 1 << 20})
		n.Run(100 * Millisecond)
		if r := traffic.Result(0); r.Done() != (name != "go-back-0") {
			t.Errorf("%s: %d bytes acknowledged, done %v, error %v", name, r.Acked, r.Done(), r.Err)
		}
	}
}

// Row 4: the last packet of a message, or its last acknowledgement, is lost. MP
// recovers without a timeout, within three round trips.
func tailLoss(t *testing.T) {
	const packets = 20
	for _, direction := range []Direction{Forth, Back} {
		for name, qp := range map[string]verbs.QPOptions{"wire": wired, "paper": paper} {
			if direction == Back && name == "wire" {
				continue // acknowledgements come in batches: which is the last is not known
			}
			n := newNetwork(t, paths(1, 10*gbps, 10*gbps), Config{Seed: 1})
			impair(t, n, 0, "tor0-path1", direction, Impairment{LossEvery: packets})
			traffic := carry(t, n, qp, workload.Flow{Src: 0, Dst: 1, Bytes: packets * 4096})
			finish(t, n, traffic)
			r := traffic.Result(0)
			roundTrip := n.idealTime(0, 1, 4096, (&Carrier{}).headers())
			if late := r.Duration() - r.Ideal; total(n).Lost == 0 || r.Timeouts != 0 || late > 3*roundTrip {
				t.Errorf("%s, direction %d: %d lost, %d timeouts, %v late; a round trip is %v", name, direction, total(n).Lost, r.Timeouts, late, roundTrip)
			}
		}
	}
}
