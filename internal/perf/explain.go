package perf

import (
	"errors"
	"fmt"

	"github.com/braid-rdma/braid"
	"github.com/braid-rdma/braid/verbs"
)

// explain adds to an error of a completion what the user can do about it.
func explain(err error) error {
	switch {
	case errors.Is(err, verbs.ErrRetryExceeded):
		return fmt.Errorf("the peer does not reply over UDP: check that port 4791 is open in both directions: %w", err)
	case errors.Is(err, verbs.ErrRNRRetryExceeded):
		return fmt.Errorf("the peer posts no receives: is it still running?: %w", err)
	}
	return err
}

// explainDial adds to an error of a connection attempt what the user can do
// about it.
func explainDial(err error) error {
	if errors.Is(err, braid.ErrUnreachable) || errors.Is(err, braid.ErrRefused) {
		return fmt.Errorf("%w (is `braid perf serve` running there?)", err)
	}
	return err
}
