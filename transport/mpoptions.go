package transport

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// MPOptions are the parameters of a multi-path queue pair. PaperOptions gives
// MP-RDMA as published; WireOptions, the default of the UDP engine, adds what
// a network without PFC and often without ECN needs.
type MPOptions struct {
	// Slots is L, the packets that the receiver tracks from rcv_nxt on (§3.3.1).
	Slots int
	// Delta is the out-of-order degree that path selection aims at (§3.3.2). 0:
	// there is no such control, and no acknowledgement is too late (the paper's
	// figures 1 and 14 compare with that).
	Delta int
	// ProbeProbability is p: the chance, once per round trip, that a packet
	// tries a random virtual path (§3.5).
	ProbeProbability float64
	// Alpha scales the delay of a synchronise operation (§3.4).
	Alpha float64
	// InitialWindow is IW, in packets (§3.2).
	InitialWindow int
	// MaxWindow bounds the congestion window, in packets; it stands for what the
	// receiver can take where nothing marks ECN.
	MaxWindow int
	// MaxWindowBytes, if not zero, sets MaxWindow by the path MTU when the
	// connection starts: what a socket buffer or a cache holds is bytes.
	MaxWindowBytes int
	// Run is how many packets in a row take the same path when no
	// acknowledgement chooses it. The paper spreads packet by packet (1); runs
	// of equal packets on one path are what UDP_SEGMENT can send in one call.
	Run int

	// BatchAcks lets one packet acknowledge many packets of one path.
	// Each keeps its path, mark and retransmission echo, so path selection sees
	// what it would see without it; what it saves is system calls.
	BatchAcks bool
	// Selective lets the sender keep a record of what was acknowledged, so that
	// only lost packets are sent again, and finds losses by later arrivals on
	// the same path instead of by bitmap overflow.
	Selective bool
	// LossResponse makes loss a congestion signal: without PFC, a full queue drops.
	LossResponse bool
	// LossTolerance is the part of its packets that a path may lose and stay in use, where others lose
	// less. Such losses are not taken for congestion. 0: a path that loses twice is out of use for a while.
	LossTolerance float64
	// RetirePaths takes a path out of use when it loses packets while others
	// do not, and probes it before it is used again.
	RetirePaths bool
	// Rebalance evens out the load of paths that show no congestion, which ACK
	// clocking by itself leaves as it is where nothing marks.
	Rebalance bool
	// WindowedSpan keeps snd_nxt within L of snd_una, so that a packet never
	// finds the receiver's bitmap full. The paper lets it overflow, because it
	// detects loss by the overflow.
	WindowedSpan bool
	// KeepWindow keeps the window from shrinking below IW by path window
	// reduction (§3.5): a restart would grant IW anyway.
	KeepWindow bool
	// GrowUsed lets MP-RDMA's window grow only while it is used, as the principle of §3.5, "use it or lose it", asks. Without it
	// acknowledgements open the window also while a synchronise operation waits.
	GrowUsed bool

	// EarlyRetransmit is the age, in smoothed round trips, from which an
	// unacknowledged packet is sent again as new data when there is no new data
	// (§3.5, after FUSO).
	EarlyRetransmit float64
	// MinRTO is the shortest retransmission timeout.
	MinRTO time.Duration
	// InitialRTT stands in until the first measurement.
	InitialRTT time.Duration

	// ObserveDegree, if not nil, is told the out-of-order degree of every packet that
	// the receiver accepts: the difference between its sequence number and the
	// expected one (MP-RDMA §1, footnote 3), zero in order. Counters keep the
	// highest; percentiles are the business of who asks.
	ObserveDegree func(degree int)

	// Policy makes the path policy, Control the congestion control; nil: the
	// paper's multi-path ACK clocking and ECN window.
	Policy  func(paths int, o *MPOptions, r *rand.Rand) PathPolicy
	Control func(o *MPOptions) CongestionControl
}

// PaperOptions are MP-RDMA's own parameters and mechanisms (§5: L=64, Δ=32,
// p=1 %, α=1), nothing beyond.
func PaperOptions() MPOptions {
	return MPOptions{
		Slots: 64, Delta: 32, ProbeProbability: 0.01, Alpha: 1,
		InitialWindow: 16, MaxWindow: 4096, Run: 1,
		GrowUsed: true, EarlyRetransmit: 1, MinRTO: time.Millisecond, InitialRTT: 100 * time.Microsecond,
	}
}

// WireOptions are the defaults on real networks; docs/decisions says why.
func WireOptions() MPOptions {
	o := PaperOptions()
	o.Slots, o.Delta = 1024, 512
	o.InitialWindow, o.MaxWindow, o.MaxWindowBytes = 64, 1024, 4<<20
	o.Run = 60
	o.BatchAcks, o.Selective, o.LossResponse = true, true, true
	o.RetirePaths, o.Rebalance, o.LossTolerance = true, true, 0.25
	o.WindowedSpan, o.KeepWindow, o.GrowUsed = true, true, false
	o.EarlyRetransmit = 2
	o.MinRTO = 20 * time.Millisecond
	return o
}

func (o *MPOptions) check() error {
	switch {
	case o.Slots < 2 || o.Slots > MaxTrackingSlots || o.Slots&(o.Slots-1) != 0:
		return fmt.Errorf("%w: L=%d must be a power of two from 2 to %d", ErrAttr, o.Slots, MaxTrackingSlots)
	case o.Delta < 0 || o.Delta > o.Slots:
		return fmt.Errorf("%w: delta=%d must be from 0 to L=%d (MP-RDMA §3.3.2)", ErrAttr, o.Delta, o.Slots)
	case !(o.ProbeProbability >= 0 && o.ProbeProbability <= 1):
		return fmt.Errorf("%w: probe probability %v", ErrAttr, o.ProbeProbability)
	case !(o.Alpha >= 0 && o.Alpha <= 100):
		return fmt.Errorf("%w: alpha %v", ErrAttr, o.Alpha)
	case o.InitialWindow < 1 || o.MaxWindow < o.InitialWindow || o.MaxWindow > MaxTrackingSlots:
		return fmt.Errorf("%w: windows %d and %d", ErrAttr, o.InitialWindow, o.MaxWindow)
	case o.MaxWindowBytes < 0:
		return fmt.Errorf("%w: window of %d bytes", ErrAttr, o.MaxWindowBytes)
	case !(o.LossTolerance >= 0 && o.LossTolerance < 1):
		return fmt.Errorf("%w: loss tolerance %v", ErrAttr, o.LossTolerance)
	case o.Run < 1 || !(o.EarlyRetransmit >= 0) || o.MinRTO < 1 || o.InitialRTT < 1:
		return fmt.Errorf("%w: run, early retransmit, RTO or RTT", ErrAttr)
	}
	return nil
}
