package monitor

import (
	"fmt"
	"testing"
	"time"

	"github.com/braid-rdma/braid/internal/ping"
)

// A probe that this host did not send says nothing of the network.
func TestSeen(t *testing.T) {
	var s seen
	s.add("b", &ping.Result{Err: fmt.Errorf("%w: 256 wait", ping.ErrBusy)})
	if pairs := s.take(); len(pairs) != 0 {
		t.Errorf("of a probe that was not sent: %+v", pairs)
	}
	s.add("b", &ping.Result{Stamps: ping.Stamps{0, 1, 0, 0, 5, 6}})
	s.add("b", &ping.Result{Err: ping.ErrLost})
	s.lost("c", 3)
	pairs := s.take()
	if len(pairs) != 2 || pairs[0].Sent != 2 || pairs[0].Lost != 1 || pairs[0].Network != 4*time.Nanosecond || pairs[1].To != "c" || pairs[1].Path != 3 || pairs[1].Lost != 1 {
		t.Errorf("%+v", pairs)
	}
}
