//go:build !unix

package verbs

// probeMemory trusts that the memory is there: this system has no mapping to
// try it with, and Go ends the process if it is not.
func probeMemory(int) error { return nil }
