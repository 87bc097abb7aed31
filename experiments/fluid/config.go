package fluid

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// DefaultPacketBytes is the packet of the paper's footnote 4: 1220 of them are
// 100 Gb/s times 100 µs.
const DefaultPacketBytes = 1024

// Errors of [Solve], [SolveSelfConsistent] and [FixedPoint]; the error returned says which value is wrong.
var (
	// ErrConfig is a parameter outside its range.
	ErrConfig = errors.New("fluid: bad parameter")

	// ErrStep is a step longer than the shortest base RTT, which would need
	// marks of the future.
	ErrStep = errors.New("fluid: step too long")

	// ErrTooLarge is a problem beyond the limits on steps, paths or samples.
	ErrTooLarge = errors.New("fluid: problem too large")

	// ErrDiverged is a solution that left what the equations allow, or that
	// moves too fast for the step to follow.
	ErrDiverged = errors.New("fluid: solution diverged")

	// ErrInconsistent is a network whose average RTTs no R* reproduces.
	ErrInconsistent = errors.New("fluid: no self-consistent R*")
)

// A Link is a physical path: one bottleneck with its queue.
type Link struct {
	RateBitsPerSecond float64
	BaseRTT           time.Duration // d_j, without queueing
	Marking           Marking
	InitialQueue      float64 // packets at time zero

	// FeedbackRTT is R*_j, the age of the marks that senders learn of. Zero is the
	// RTT at the fixed point's queue, which is right wherever the queue settles.
	FeedbackRTT time.Duration
}

// A Group is connections in phase: they share a mapping and their windows move
// together (§3.2.1 assumes this of all flows).
type Group struct {
	Count int   // N, connections in the group
	Paths []int // for each virtual path, the index of its link

	// InitialWindows are the w_i at time zero, one for each virtual path. Nil
	// is one packet each, as §3.2 spreads an initial window. None may be
	// zero: a path without a packet has no ACK to clock the next one out.
	InitialWindows []float64
}

// A Feedback says how old the marks are that a sender reacts to.
type Feedback int

const (
	// Delayed marks are R*_j old, as in eq. (1) and (6).
	Delayed Feedback = iota

	// Immediate marks turn the model into ordinary differential equations,
	// which shows what of an oscillation is owed to the delay.
	Immediate
)

// A Config is one problem. Zero values of PacketBytes, Step, SampleEvery and
// Tail stand for defaults.
type Config struct {
	Links    []Link
	Groups   []Group
	Feedback Feedback

	PacketBytes int           // 0: DefaultPacketBytes
	Duration    time.Duration // how much time to solve for
	Step        time.Duration // 0: the shortest base RTT / 64
	SampleEvery time.Duration // between samples of the trajectory, in whole steps; 0: Duration / 1000
	Tail        time.Duration // the end, over which Steady averages; 0: Duration / 4
}

// withDefaults fills in what the caller left out; check is to follow.
func (c Config) withDefaults() Config {
	if c.PacketBytes == 0 {
		c.PacketBytes = DefaultPacketBytes
	}
	if c.Step == 0 && len(c.Links) > 0 {
		c.Step = max(1, c.shortestRTT()/stepsPerRTT)
	}
	if c.SampleEvery == 0 {
		c.SampleEvery = max(c.Step, c.Duration/defaultSamples)
	}
	if c.Tail == 0 {
		c.Tail = c.Duration / 4
	}
	return c
}

func (c *Config) shortestRTT() time.Duration {
	shortest := c.Links[0].BaseRTT
	for _, link := range c.Links {
		shortest = min(shortest, link.BaseRTT)
	}
	return shortest
}

// variables counts what is integrated: a window per virtual path, a queue per link.
func (c *Config) variables() int {
	n := len(c.Links)
	for _, group := range c.Groups {
		n += len(group.Paths)
	}
	return n
}

// steps is how many steps fill the duration, the last one possibly reaching beyond.
func (c *Config) steps() int64 {
	return (int64(c.Duration) + int64(c.Step) - 1) / int64(c.Step)
}

func positive(x float64) bool { return x > 0 && !math.IsInf(x, 1) }

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

func badConfig(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrConfig, fmt.Sprintf(format, args...))
}
