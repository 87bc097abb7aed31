package lab

import (
	"fmt"
	"regexp"
	"time"
)

// Limits of a lab: the address plan has room for no more, and one machine is
// not fast enough for these.
const (
	MaxLeaves       = 32
	MaxHostsPerLeaf = 64
	MaxSpines       = 16

	minRate  = 1_000_000
	maxRate  = 100_000_000_000
	maxDelay = time.Second
	minMTU   = 576
	maxMTU   = 65535
)

// Options say which network to build. Zero values stand for the defaults, which
// are the testbed of the MP-RDMA paper (10 servers, 2 leaves, 4 paths) at the
// speed of one machine.
type Options struct {
	// Name is what the names of all namespaces begin with; default "braidlab".
	Name string `json:"name"`

	Leaves       int `json:"leaves"`         // default 2
	HostsPerLeaf int `json:"hosts_per_leaf"` // default 5
	Spines       int `json:"spines"`         // default 4

	// Rate is that of each path in bits per second; default 1 Gb/s.
	Rate int64 `json:"rate"`
	// HostRate is that of the port from a leaf to each of its hosts; 0: what the
	// machine is able to.
	HostRate int64 `json:"host_rate"`
	// Delay is the longest that a packet waits in a port's queue: what comes
	// when the queue is that long is dropped. Default 4 ms.
	Delay time.Duration `json:"delay"`
	// Threshold is the wait from which packets are marked (ECN CE); default
	// 1 ms, because programs on a machine of few processors answer that late;
	// NoMarks: never.
	Threshold time.Duration `json:"threshold"`
	// MTU is that of all links; default 9000.
	MTU int `json:"mtu"`
}

// NoMarks is the threshold of a port that never marks.
const NoMarks = time.Duration(-1)

// WithDefaults fills in what is left at zero.
func (o Options) WithDefaults() Options {
	orDefault(&o.Name, "braidlab")
	orDefault(&o.Leaves, 2)
	orDefault(&o.HostsPerLeaf, 5)
	orDefault(&o.Spines, 4)
	orDefault(&o.Rate, 1_000_000_000)
	orDefault(&o.Delay, 4*time.Millisecond)
	orDefault(&o.Threshold, time.Millisecond)
	orDefault(&o.MTU, 9000)
	return o
}

func orDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// validName keeps the names of namespaces fit for paths, and short.
var validName = regexp.MustCompile(`^[a-z][a-z0-9]{0,15}$`)

// Check refuses what cannot be built.
func (o *Options) Check() error {
	switch {
	case !validName.MatchString(o.Name):
		return fmt.Errorf("%w: name %q: use up to 16 lower-case letters and digits", ErrOptions, o.Name)
	case o.Leaves < 1 || o.Leaves > MaxLeaves:
		return fmt.Errorf("%w: %d leaves: use 1 to %d", ErrOptions, o.Leaves, MaxLeaves)
	case o.HostsPerLeaf < 1 || o.HostsPerLeaf > MaxHostsPerLeaf:
		return fmt.Errorf("%w: %d hosts per leaf: use 1 to %d", ErrOptions, o.HostsPerLeaf, MaxHostsPerLeaf)
	case o.Spines < 1 || o.Spines > MaxSpines:
		return fmt.Errorf("%w: %d spines: use 1 to %d", ErrOptions, o.Spines, MaxSpines)
	case !validRate(o.Rate):
		return fmt.Errorf("%w: rate %d b/s: use 1 Mb/s to 100 Gb/s", ErrOptions, o.Rate)
	case o.HostRate != 0 && !validRate(o.HostRate):
		return fmt.Errorf("%w: host rate %d b/s: use 1 Mb/s to 100 Gb/s, or 0 for no limit", ErrOptions, o.HostRate)
	case o.Delay < 0 || o.Delay > maxDelay:
		return fmt.Errorf("%w: delay %v: use up to %v", ErrOptions, o.Delay, maxDelay)
	case !validThreshold(o.Threshold):
		return fmt.Errorf("%w: ECN threshold %v: use up to %v, or a negative one for no marks", ErrOptions, o.Threshold, maxDelay)
	case o.MTU < minMTU || o.MTU > maxMTU:
		return fmt.Errorf("%w: MTU %d: use %d to %d", ErrOptions, o.MTU, minMTU, maxMTU)
	}
	return nil
}

func validRate(rate int64) bool { return rate >= minRate && rate <= maxRate }

func validThreshold(t time.Duration) bool { return t == NoMarks || t > 0 && t <= maxDelay }
