package command

import (
	"fmt"
	"os"
	"strings"
)

// processorTimes are the ticks in which this machine's processors worked, and all of them.
type processorTimes struct{ busy, all uint64 }

// readProcessorTimes reads the sum over all processors (proc_stat(5)).
func readProcessorTimes() (processorTimes, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return processorTimes{}, err
	}
	return parseProcessorTimes(string(text))
}

func parseProcessorTimes(text string) (processorTimes, error) {
	line, _, _ := strings.Cut(text, "\n")
	// user, nice, system, idle, waiting for a disk, interrupts, deferred ones, taken by the hypervisor
	var ticks [8]uint64
	_, err := fmt.Sscanf(line, "cpu %d %d %d %d %d %d %d %d",
		&ticks[0], &ticks[1], &ticks[2], &ticks[3], &ticks[4], &ticks[5], &ticks[6], &ticks[7])
	if err != nil {
		return processorTimes{}, fmt.Errorf("/proc/stat begins with %.40q: %w", line, err)
	}
	var t processorTimes
	for i, n := range ticks {
		t.all += n
		if i != 3 && i != 4 {
			t.busy += n
		}
	}
	return t, nil
}
