package verbs_test

import (
	"errors"
	"net"
	"testing"
	"time"

	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

// TestTimersAreRoundedUp connects with timers as durations and reads the codes
// that the specification has for them.
func TestTimersAreRoundedUp(t *testing.T) {
	for _, c := range []struct {
		ack, rnr       time.Duration
		ackCode, rnrTo uint8
	}{
		{0, 0, 14, 12}, // the defaults
		{verbs.None, time.Nanosecond, 0, 1},
		{time.Nanosecond, 10 * time.Microsecond, 1, 1},
		{8192 * time.Nanosecond, 11 * time.Microsecond, 1, 2},
		{8193 * time.Nanosecond, 640 * time.Microsecond, 2, 12},
		{67 * time.Millisecond, 500 * time.Millisecond, 14, 0},
		{time.Second, 491520 * time.Microsecond, 18, 31},
		{verbs.AckTimeoutOf(31), verbs.RNRTimerOf(0), 31, 0},
	} {
		p := newPair(t, verbs.QPOptions{Type: verbs.RC, Conn: verbs.ConnOptions{AckTimeout: c.ack, MinRNRTimer: c.rnr}})
		if a := p.a.qp.Query().Attr; a.Timeout != c.ackCode || a.MinRNRTimer != c.rnrTo {
			t.Errorf("%v and %v have the codes %d and %d, want %d and %d", c.ack, c.rnr, a.Timeout, a.MinRNRTimer, c.ackCode, c.rnrTo)
		}
	}
	for code := range 32 {
		want := uint8(code)
		p := newPair(t, verbs.QPOptions{Type: verbs.RC, Conn: verbs.ConnOptions{AckTimeout: verbs.AckTimeoutOf(code), MinRNRTimer: verbs.RNRTimerOf(code)}})
		if a := p.a.qp.Query().Attr; a.Timeout != want || a.MinRNRTimer != want {
			t.Errorf("codes %d and %d, want %d", a.Timeout, a.MinRNRTimer, want)
		}
	}
}

// TestTimeoutsAreNetErrors asks failed completions whether time ran out.
func TestTimeoutsAreNetErrors(t *testing.T) {
	for status, want := range map[verbs.Status]bool{transport.RetryExcErr: true, transport.RespTimeoutErr: true, transport.RemAccessErr: false} {
		c := verbs.Completion{Status: status}
		var timeout net.Error
		if !errors.As(c.Err(), &timeout) || timeout.Timeout() != want {
			t.Errorf("%v: Timeout is not %v", c.Err(), want)
		}
	}
}
