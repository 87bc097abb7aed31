package sim

import "fmt"

// PFC is priority flow control (IEEE 802.1Qbb).
type PFC struct {
	On bool
	// Headroom is the bytes kept for what arrives from one port and lossless priority after
	// XOFF was sent; what exceeds it is dropped. 0: as Headroom reckons.
	Headroom int
	// Reserve is the bytes of one port and lossless priority that are not taken from the
	// shared buffer, so that a priority which has nothing yet is not stopped by the
	// others; 0: 4 KiB, as in HPCC's switch.
	Reserve int
	// XOFF is the bytes buffered from one port and priority above which the switch sends
	// XOFF. 0: dynamic, the reserve and Alpha times the shared buffer that nobody has taken.
	XOFF  int
	Alpha float64 // 0: 1/8, as in HPCC's switch
	// Hysteresis is how far below XOFF the bytes must fall before XON; 0: 3 KiB.
	Hysteresis int
	// Reaction is how long the switch, and the hosts at its ports, go on sending after a
	// PFC frame has arrived; 0: DefaultReaction.
	Reaction Time
	// Quanta is how long an XOFF frame stops the peer, in times of 512 bits; 0: 65535,
	// the most there is. The switch says XOFF again at half of it. EndlessPause: until
	// XON, so that the loss of one frame stops the peer for ever.
	Quanta int
	// Lossless are the priorities, as bits, that PFC covers. 0: all, of which one is
	// expected to be in use at each port: they share the headroom and the reserve of one.
	Lossless uint8
	// Watchdog is how long a queue may be stopped before that is reported (see
	// Storms) and its packets are dropped until XON; 0: for ever.
	Watchdog Time

	express uint8 // the priority, as a bit, that is never stopped
}

const (
	defaultAlpha      = 1.0 / 8
	defaultReserve    = 4 << 10
	defaultHysteresis = 3 << 10
	// MaxAlpha is beyond the largest that switches offer, 8, and the 16 of ns3-rdma.
	MaxAlpha = 64
)

func (c *PFC) check() error {
	for _, bytes := range []int{c.Headroom, c.Reserve, c.XOFF, c.Hysteresis} {
		if bytes < 0 || bytes >= 1<<30 {
			return fmt.Errorf("%w: %d bytes for PFC, must be 0 to 1 GiB", ErrConfig, bytes)
		}
	}
	if c.Watchdog < 0 || c.Reaction < 0 {
		return fmt.Errorf("%w: times of PFC must not be negative", ErrConfig)
	}
	if !(c.Alpha >= 0 && c.Alpha <= MaxAlpha) {
		return fmt.Errorf("%w: alpha %v, must be from 0 to %d", ErrConfig, c.Alpha, MaxAlpha)
	}
	if c.Quanta < EndlessPause || c.Quanta > LongestPause {
		return fmt.Errorf("%w: a pause of %d quanta, must be 1 to %d", ErrConfig, c.Quanta, LongestPause)
	}
	return nil
}

func (c *PFC) withDefaults() {
	if c.Alpha == 0 {
		c.Alpha = defaultAlpha
	}
	if c.Reserve == 0 {
		c.Reserve = defaultReserve
	}
	if c.Hysteresis == 0 {
		c.Hysteresis = defaultHysteresis
	}
	if c.Reaction == 0 {
		c.Reaction = DefaultReaction
	}
}

// covered are the priorities, as bits, that PFC covers.
func (c *PFC) covered() uint8 {
	switch {
	case !c.On:
		return 0
	case c.Lossless == 0:
		return (1<<priorities - 1) &^ c.express
	}
	return c.Lossless &^ c.express
}
