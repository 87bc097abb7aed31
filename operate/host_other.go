//go:build !linux

package operate

import "runtime"

type hostTimes struct{}

func readHost() hostTimes { return hostTimes{} }

func (hostTimes) until(hostTimes) Host { return Host{Processors: runtime.NumCPU()} }
