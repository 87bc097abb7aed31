//go:build !linux

package command

import "errors"

// processorTimes are the ticks in which this machine's processors worked, and all of them.
type processorTimes struct{ busy, all uint64 }

func readProcessorTimes() (processorTimes, error) {
	return processorTimes{}, errors.New("--cpu_util: how busy the processors are is known on Linux only")
}
