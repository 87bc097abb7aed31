package sim

import "fmt"

// At lets f happen at a host at an instant: a program's part in a script. f may
// use the verbs objects of that host, and no others where several workers run.
func (n *Network) At(t Time, host int, f func()) error {
	if host < 0 || host >= len(n.hosts) {
		return fmt.Errorf("%w: there is no host %d of %d", ErrConfig, host, len(n.hosts))
	}
	n.undivide()
	h := n.hosts[host]
	h.call(max(t, h.now()), func() {
		f()
		h.Wake()
	})
	return nil
}

// PauseStorm makes a host's NICs stop their switch in one priority, as a broken
// NIC does that no longer drains its receive buffer: from an instant on for a
// duration, or for ever if that is zero; then something is always left to happen,
// because the NIC says XOFF again and again.
func (n *Network) PauseStorm(at Time, host int, priority int, duration Time) error {
	switch {
	case host < 0 || host >= len(n.hosts):
		return fmt.Errorf("%w: there is no host %d of %d", ErrConfig, host, len(n.hosts))
	case priority < 0 || priority >= priorities:
		return fmt.Errorf("%w: priority %d, must be 0 to %d", ErrConfig, priority, priorities-1)
	case duration < 0:
		return fmt.Errorf("%w: a storm of %v", ErrConfig, duration)
	}
	h := n.hosts[host]
	start := max(at, h.now())
	h.call(start, func() {
		for _, nic := range h.nics {
			nic.guarded().refresh[priority].stop(nic, uint8(priority), LongestPause)
		}
	})
	if duration > 0 {
		h.call(start+duration, func() {
			for _, nic := range h.nics {
				nic.guard.refresh[priority].release()
			}
		})
	}
	return nil
}
