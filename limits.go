package braid

import (
	"errors"
	"fmt"
	"time"

	"github.com/braid-rdma/braid/verbs"
)

// Limits of a configuration, and what it does not decide.
const (
	maxSmall        = 64 << 10
	minWindow       = 4
	maxWindow       = 1024
	maxMessage      = 1 << 30
	maxCalls        = 1024
	readsPerChannel = 16 // as many as a queue pair may have
	signalEvery     = 16 // sends between two completions
	// defaultQPCache takes 5 MiB at most. A context that has more channels come and go at a time
	// makes queue pairs anew.
	defaultQPCache = 64
	// minKeepalive keeps an idle channel from doing nothing but ask.
	minKeepalive = time.Millisecond
	// minPatience is as long as a healthy peer may be silent because its machine is busy.
	minPatience = 10 * time.Millisecond
	// maxWait bounds the times for which nothing else sets a bound: it is as good as for ever, and can be added to
	// any instant.
	maxWait = 24 * time.Hour
)

// maxPatience is the longest that RDMA knows, 19.5 hours: its ACK timeout is a code of five bits.
var maxPatience = (retries + 1) * verbs.AckTimeoutOf(31)

// check tells all values that are impossible. Defaults are filled in.
func (c *Config) check() error {
	wrong := append(c.checkNumbers(), c.checkTimes()...)
	if _, err := c.chosen(); err != nil {
		wrong = append(wrong, fmt.Errorf("%w: %w", ErrConfig, err))
	}
	return errors.Join(wrong...)
}

func (c *Config) checkNumbers() (wrong []error) {
	// Two limits follow from other values. Where these are wrong themselves they say nothing.
	minMessage, maxChannels := 1, verbs.MaxCQDepth
	if c.SmallMessage >= 1 && c.SmallMessage <= maxSmall {
		minMessage = c.SmallMessage
	}
	if c.Window >= minWindow && c.Window <= maxWindow && c.Calls >= 1 && c.Calls <= maxCalls {
		maxChannels = verbs.MaxCQDepth / c.operations()
	}
	for _, f := range []struct {
		name            string
		value, min, max int
	}{
		{"SmallMessage", c.SmallMessage, 1, maxSmall},
		{"MaxMessage", c.MaxMessage, minMessage, maxMessage},
		{"Window", c.Window, minWindow, maxWindow},
		{"Calls", c.Calls, 1, maxCalls},
		{"Fragment", c.Fragment, 1024, maxMessage},
		{"Fragments", c.Fragments, 1, 1 << 16},
		{"FragmentsBeside", c.FragmentsBeside, 1, 1 << 16},
		{"Memory", c.Memory, 1 << 20, 1 << 46},
		{"QPCache", c.QPCache, noQPCache, verbs.MaxQPs},
		{"Mock", int(c.Mock), 0, len(mockNames) - 1},
		{"Log", int(c.Log), 0, len(logNames) - 1},
		{"MockPort", c.MockPort, 0, 65535},
		{"Channels", c.Channels, 1, maxChannels},
		{"Trace", int(c.Trace), int(TraceOff), int(TraceReqRsp)},
		{"TraceMask", c.TraceMask, 0, 1<<31 - 1},
	} {
		if f.value < f.min || f.value > f.max {
			wrong = append(wrong, fmt.Errorf("%w: %s is %d, want %d to %d", ErrConfig, f.name, f.value, f.min, f.max))
		}
	}
	return wrong
}

func (c *Config) checkTimes() (wrong []error) {
	for _, f := range []struct {
		name            string
		value, min, max time.Duration
		negative        bool // has a meaning
	}{
		{"Keepalive", c.Keepalive, minKeepalive, verbs.MaxKeepalive, true},
		{"Patience", c.Patience, minPatience, maxPatience, false},
		{"Linger", c.Linger, 1, maxWait, true},
		{"SlowThreshold", c.SlowThreshold, 1, maxWait, true},
		{"PollingWarn", c.PollingWarn, 0, maxWait, false},
	} {
		if f.value >= f.min && f.value <= f.max || f.value < 0 && f.negative {
			continue
		}
		also := ""
		if f.negative {
			also = ", or a negative time"
		}
		wrong = append(wrong, fmt.Errorf("%w: %s is %v, want %v to %v%s", ErrConfig, f.name, f.value, f.min, f.max, also))
	}
	return wrong
}
