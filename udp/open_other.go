//go:build !linux

package udp

import "github.com/braid-rdma/braid/verbs"

// Open fails on systems other than Linux.
func Open(Config) (*verbs.Device, error) { return nil, ErrUnsupported }

// StatsOf has nothing to return on systems other than Linux.
func StatsOf(*verbs.Device) (Stats, bool) { return Stats{}, false }

// SourcePortOf has nothing to return on systems other than Linux.
func SourcePortOf(*verbs.Device, int) uint16 { return 0 }

// Faults does not exist on systems other than Linux.
type Faults struct{}

// FaultsOf returns nil on systems other than Linux.
func FaultsOf(*verbs.Device) *Faults { return nil }

// Cut does nothing.
func (*Faults) Cut(int) {}

// Restore does nothing.
func (*Faults) Restore(int) {}

// OutOnly does nothing.
func (*Faults) OutOnly(bool) {}

// SetLoss does nothing.
func (*Faults) SetLoss(int, float64) {}
