package operate

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// hostTimes are sums since the machine, or the program, was started. What cannot be read stays zero, and
// is no evidence then.
type hostTimes struct {
	all, idle, stolen uint64 // ticks of all processors
	own, delayed      time.Duration
}

// until is how busy the machine was between two looks.
func (h hostTimes) until(later hostTimes) Host {
	idle, given := since(later.idle, h.idle), since(later.stolen, h.stolen) // proc(5): the time of iowait may decrease
	all := float64(max(1, since(later.all, h.all), idle+given))
	return Host{
		Processors: runtime.NumCPU(), Busy: 1 - float64(idle)/all, Stolen: float64(given) / all,
		Own: later.own - h.own, Delayed: max(0, later.delayed-h.delayed), // a thread may have ended
	}
}

func readHost() (h hostTimes) {
	h.readProcessors()
	var use unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &use) == nil {
		h.own = time.Duration(use.Utime.Nano() + use.Stime.Nano())
	}
	threads, _ := filepath.Glob("/proc/self/task/*/schedstat")
	for _, t := range threads {
		var ran, waited, slices uint64
		text, _ := os.ReadFile(t) // the thread may have ended
		if n, _ := fmt.Sscan(string(text), &ran, &waited, &slices); n == 3 {
			h.delayed += time.Duration(waited)
		}
	}
	return h
}

// readProcessors reads the first line of /proc/stat, proc(5): user, nice, system, idle, iowait, irq, softirq, steal.
func (h *hostTimes) readProcessors() {
	text, _ := os.ReadFile("/proc/stat")
	line, _, _ := bytes.Cut(text, []byte("\n"))
	for i, field := range strings.Fields(strings.TrimPrefix(string(line), "cpu")) {
		ticks, _ := strconv.ParseUint(field, 10, 64)
		switch {
		case i > 7:
			return // guests are counted in user time
		case i == 3 || i == 4:
			h.idle += ticks
		case i == 7:
			h.stolen = ticks
		}
		h.all += ticks
	}
}
