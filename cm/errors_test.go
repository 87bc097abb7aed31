package cm

import (
	"errors"
	"fmt"
	"net"
	"testing"

	"github.com/braid-rdma/braid/cm/mad"
	"github.com/braid-rdma/braid/verbs"
)

// TestErrorsFitTheOthers checks that programs can treat the errors of this package
// as they treat those of others.
func TestErrorsFitTheOthers(t *testing.T) {
	var timeout net.Error
	if !errors.As(fmt.Errorf("dial: %w", ErrTimeout), &timeout) || !timeout.Timeout() {
		t.Error("ErrTimeout is no net.Error that says so")
	}
	if !errors.Is(newRejectError(&mad.REJ{Reason: mad.ReasonTimeout}), ErrTimeout) {
		t.Error("a refusal for lack of time is no ErrTimeout")
	}
	if !errors.Is(ErrClosed, verbs.ErrClosed) {
		t.Error("there are two errors for what was closed")
	}
}
