package verbs

import (
	"fmt"
	"time"

	"github.com/braid-rdma/braid/wire"
)

// The specification has two timers as codes of five bits. Programs give them as
// durations, which are rounded up to the next that has a code.

// timerCodes is the number of codes.
const timerCodes = 32

// AckTimeoutOf is the local ACK timeout of a code, 4.096 µs · 2^code, as
// ConnOptions takes it; code 0 is never (IBTA 9.7.6.1.3).
func AckTimeoutOf(code int) time.Duration {
	if code <= 0 {
		return None
	}
	return 4096 * time.Nanosecond << min(code, timerCodes-1)
}

// ackTimeoutCode is the code of the shortest timeout that is not below d, and 0
// for a negative d: never.
func ackTimeoutCode(d time.Duration) (uint8, error) {
	if d < 0 {
		return 0, nil
	}
	for code := 1; code < timerCodes; code++ {
		if AckTimeoutOf(code) >= d {
			return uint8(code), nil
		}
	}
	return 0, fmt.Errorf("%w: ACK timeout %v; at most %v", ErrAttr, d, AckTimeoutOf(timerCodes-1))
}

// RNRTimerOf is the wait of a code of the receiver-not-ready timer (IBTA table 45),
// as ConnOptions takes it.
func RNRTimerOf(code int) time.Duration {
	return time.Duration(wire.RNRTimerNanos(uint8(code) % timerCodes))
}

// rnrTimerCode is the code of the shortest wait that is not below d. The table
// begins with its longest wait.
func rnrTimerCode(d time.Duration) (uint8, error) {
	for code := 1; code < timerCodes; code++ {
		if RNRTimerOf(code) >= d {
			return uint8(code), nil
		}
	}
	if d > RNRTimerOf(0) {
		return 0, fmt.Errorf("%w: RNR timer %v; at most %v", ErrAttr, d, RNRTimerOf(0))
	}
	return 0, nil
}
