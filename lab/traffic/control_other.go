//go:build !linux

package traffic

import "errors"

// setCongestionControl chooses a socket's congestion control, on Linux.
func setCongestionControl(int, string) error { return errors.ErrUnsupported }
