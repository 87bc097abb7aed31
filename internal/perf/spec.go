package perf

import (
	"errors"
	"fmt"
	"time"

	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

// Op is an RDMA operation to measure.
type Op string

// The operations.
const (
	Write  Op = "write"
	Read   Op = "read"
	Send   Op = "send"
	Atomic Op = "atomic" // FETCH_ADD
)

// Ops lists the operations.
var Ops = []Op{Write, Read, Send, Atomic}

// Metric is what to measure of an operation.
type Metric string

// The metrics.
const (
	Bandwidth Metric = "bw"
	Latency   Metric = "lat"
)

// Metrics lists the metrics.
var Metrics = []Metric{Bandwidth, Latency}

// Limits of a test. The server has them for its own sake: a client may ask
// for anything.
const (
	MaxSize  = 1 << 30
	MaxQPs   = 1024
	MaxDepth = 1 << 13
	// maxRegion bounds the memory of one session at each end.
	maxRegion   = 2 << 30
	maxDuration = 24 * time.Hour
	// The line rate is at least the lowest rate of DCQCN, and beyond every NIC at most.
	minLineRate = 100e6
	maxLineRate = 1e13
	maxIters    = 1 << 40 // what fits beside the number of a stream in a work request ID
)

// ErrSpec is a test that cannot be run as asked.
var ErrSpec = errors.New("invalid test")

// Spec says what to measure. Zero values stand for perftest's defaults.
type Spec struct {
	Op     Op     `json:"op"`
	Metric Metric `json:"metric"`
	// Size is the bytes of a message: default 65536 for bandwidth and 2 for
	// latency; an atomic always has 8.
	Size int `json:"size"`
	// Iterations is the number of operations of each queue pair: default 5000
	// for the bandwidth of WRITE and 1000 otherwise. Duration, when not zero,
	// ends the test instead.
	Iterations int           `json:"iterations"`
	Duration   time.Duration `json:"duration"`
	QPs        int           `json:"qps"`      // default 1
	TxDepth    int           `json:"tx_depth"` // operations outstanding; default 128
	MTU        int           `json:"mtu"`      // default: the largest that both ends carry
	// QPTimeout is the local ACK timeout, 4.096 µs · 2^QPTimeout: default 14, as in
	// perftest, and for mp the library's 17.
	QPTimeout int `json:"qp_timeout"`

	QP     string `json:"qp"`     // mp (default) or rc
	Paths  int    `json:"paths"`  // mp: 0: all that both ends offer
	Policy string `json:"policy"` // mp: name of a path policy
	CC     string `json:"cc"`     // name of a congestion control (mp) or rate control (rc)
	Paper  bool   `json:"paper"`  // mp: MP-RDMA's own options
	// LineRate is where a rate control starts and the most that it sends, in
	// bit/s: default 10 Gb/s.
	LineRate int64 `json:"line_rate"`

	// RxDepth is the receives that an end keeps posted: default several times TxDepth.
	RxDepth int `json:"rx_depth,omitempty"`
	// Group is how many operations are posted with one call and have one completion:
	// default those of a mebibyte, and at most a quarter of TxDepth.
	Group int `json:"group,omitempty"`
	// Inline is the longest message of WRITE and SEND that is copied into its request.
	Inline int `json:"inline,omitempty"`
	// Events lets an end sleep until there are completions, instead of polling for them.
	Events bool `json:"events,omitempty"`

	// Histogram asks for the latencies themselves, besides their percentiles.
	Histogram bool `json:"-"`

	Bidirectional bool `json:"bidirectional"`
	Verify        bool `json:"verify"`

	// Trace receives the events of this end's queue pairs; may be nil.
	Trace transport.Tracer `json:"-"`
}

// WithDefaults fills in what is left at zero.
func (s Spec) WithDefaults() Spec {
	latency := s.Metric == Latency
	switch {
	case s.Op == Atomic:
		s.Size = 8
	case s.Size == 0 && latency:
		s.Size = 2
	case s.Size == 0:
		s.Size = 65536
	}
	if s.Iterations == 0 {
		s.Iterations = 1000
		if s.Op == Write && !latency {
			s.Iterations = 5000
		}
	}
	orDefault(&s.QPs, 1)
	orDefault(&s.TxDepth, 128)
	orDefault(&s.QP, "mp")
	if s.QP != "mp" {
		s.Paths = 1
		orDefault(&s.QPTimeout, 14)
		orDefault(&s.LineRate, 10_000_000_000)
		s.CC = properName(&transport.RateControls, s.CC)
		return s
	}
	orDefault(&s.QPTimeout, 17)
	s.Policy = properName(&transport.PathPolicies, s.Policy)
	s.CC = properName(&transport.CongestionControls, s.CC)
	return s
}

// properName is a name in its proper spelling; without one it is the default's.
// What is unknown stays for Check to refuse.
func properName[T any](r *transport.Registry[T], name string) string {
	if name == "" {
		return r.Default().Name
	}
	if e, err := r.Lookup(name); err == nil {
		return e.Name
	}
	return name
}

func orDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Check refuses what cannot be run, with the words of the command's flags.
func (s *Spec) Check() error {
	if err := s.checkQueues(); err != nil {
		return err
	}
	switch {
	case s.Op != Write && s.Op != Read && s.Op != Send && s.Op != Atomic:
		return fmt.Errorf("%w: unknown operation %q: use write, read, send or atomic", ErrSpec, s.Op)
	case s.Metric != Bandwidth && s.Metric != Latency:
		return fmt.Errorf("%w: unknown metric %q: use bw or lat", ErrSpec, s.Metric)
	case s.Size < 1 || s.Size > MaxSize:
		return fmt.Errorf("%w: size %d: use 1 to %d bytes", ErrSpec, s.Size, MaxSize)
	case s.Op == Atomic && s.Size != 8:
		return fmt.Errorf("%w: an atomic has 8 bytes, not %d", ErrSpec, s.Size)
	case s.Iterations < 1 || s.Iterations > maxIters:
		return fmt.Errorf("%w: %d iterations: use at least 1", ErrSpec, s.Iterations)
	case s.Duration < 0 || s.Duration > maxDuration:
		return fmt.Errorf("%w: duration %v: use up to %v", ErrSpec, s.Duration, maxDuration)
	case s.QPs < 1 || s.QPs > MaxQPs:
		return fmt.Errorf("%w: %d queue pairs: use 1 to %d", ErrSpec, s.QPs, MaxQPs)
	case s.TxDepth < 1 || s.TxDepth > MaxDepth:
		return fmt.Errorf("%w: tx depth %d: use 1 to %d", ErrSpec, s.TxDepth, MaxDepth)
	case s.MTU != 0 && s.QP == "mp" && !transport.ValidMPMTU(s.MTU):
		return fmt.Errorf("%w: MTU %d: use a multiple of 4 from %d to %d", ErrSpec, s.MTU, transport.MinMTU, transport.MaxMPMTU)
	case s.MTU != 0 && s.QP != "mp" && !transport.ValidMTU(s.MTU):
		return fmt.Errorf("%w: MTU %d: use 256, 512, 1024, 2048 or 4096", ErrSpec, s.MTU)
	case s.QPTimeout < 1 || s.QPTimeout > 31:
		return fmt.Errorf("%w: QP timeout %d: use 1 to 31", ErrSpec, s.QPTimeout)
	case s.Paths < 0 || s.Paths > transport.MaxPaths:
		return fmt.Errorf("%w: %d paths: use 1 to %d", ErrSpec, s.Paths, transport.MaxPaths)
	case s.QPs*newLayout(s).queuePairBytes() > maxRegion:
		return fmt.Errorf("%w: %d queue pairs of %d bytes need too much memory: use fewer or smaller ones", ErrSpec, s.QPs, s.Size)
	case s.QPs*(s.TxDepth+s.recvDepth()) > verbs.MaxCQDepth:
		return fmt.Errorf("%w: %d queue pairs with a tx depth of %d: use fewer or less", ErrSpec, s.QPs, s.TxDepth)
	}
	return s.checkCombination()
}

// checkQueues refuses what does not fit the queues.
func (s *Spec) checkQueues() error {
	switch {
	case s.RxDepth < 0 || s.RxDepth > transport.MaxQueueDepth:
		return fmt.Errorf("%w: rx depth %d: use 1 to %d", ErrSpec, s.RxDepth, transport.MaxQueueDepth)
	case s.RxDepth > 0 && !s.receives():
		return fmt.Errorf("%w: only send, and write lat, have receives and an rx depth", ErrSpec)
	case s.Group < 0 || s.Group > max(s.TxDepth, 0):
		return fmt.Errorf("%w: groups of %d operations: use 1 to the tx depth of %d", ErrSpec, s.Group, s.TxDepth)
	case s.Inline < 0 || s.Inline > transport.MaxInline:
		return fmt.Errorf("%w: inline size %d: use up to %d", ErrSpec, s.Inline, transport.MaxInline)
	case s.Inline > 0 && s.Op != Write && s.Op != Send:
		return fmt.Errorf("%w: only write and send have data to put inline", ErrSpec)
	}
	return nil
}

// inlined says whether a message travels within its request.
func (s *Spec) inlined() bool { return s.Size <= s.Inline }

// checkCombination refuses options that are fine each but not together.
func (s *Spec) checkCombination() error {
	if s.Metric == Latency {
		switch {
		case s.QPs > 1:
			return fmt.Errorf("%w: latency is measured on one queue pair", ErrSpec)
		case s.Bidirectional:
			return fmt.Errorf("%w: latency has no bidirectional mode: SEND and WRITE go both ways anyway", ErrSpec)
		case s.Verify:
			return fmt.Errorf("%w: only bandwidth tests can be verified", ErrSpec)
		}
	}
	switch {
	case s.QP != "mp" && (s.Policy != "" || s.Paper):
		return fmt.Errorf("%w: path policy and the paper's options belong to multi-path queue pairs: use them with mp", ErrSpec)
	case s.QP == "mp" && s.LineRate != 0:
		return fmt.Errorf("%w: the line rate belongs to the rate control of standard queue pairs: use it with rc", ErrSpec)
	case s.QP != "mp" && (s.LineRate < minLineRate || s.LineRate > maxLineRate):
		return fmt.Errorf("%w: line rate of %v Gb/s: use %v to %v", ErrSpec,
			float64(s.LineRate)/1e9, minLineRate/1e9, maxLineRate/1e9)
	}
	_, err := s.queuePairOptions()
	return err
}

// echoes says whether the peer replies to each operation with one of its own, so
// that the latency is half a round trip.
func (s *Spec) echoes() bool { return s.Metric == Latency && (s.Op == Send || s.Op == Write) }

// receives says whether the peer needs receives for what it is sent.
func (s *Spec) receives() bool { return s.Op == Send || s.echoes() }
