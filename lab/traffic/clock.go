package traffic

import (
	"time"

	"golang.org/x/sys/unix"
)

// Now is the time of the monotonic clock, which has the same value in all
// processes of a machine.
func Now() time.Duration {
	var t unix.Timespec
	// It fails only for a clock that does not exist.
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t)
	return time.Duration(t.Nano())
}

// processorTime is what this process has used.
func processorTime() time.Duration {
	var usage unix.Rusage
	// It fails only for a process that does not exist.
	_ = unix.Getrusage(unix.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
