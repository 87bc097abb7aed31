package sim

import (
	"errors"
	"testing"

	"github.com/braid-rdma/braid/sim/workload"
	"github.com/braid-rdma/braid/verbs"
)

// Row 5: when nothing that is sent again arrives, the error is
// IBV_WC_RETRY_EXC_ERR. RC sends again with each acknowledgement timeout, so its
// number of timeouts is exact; MP does so as the round trip tells, at least as often, and
// gives up after the same number of acknowledgement timeouts (TestAckTimeoutMeansTheSame).
func retransmissionsLost(t *testing.T) {
	for name, qp := range map[string]verbs.QPOptions{"MP wire": wired, "MP paper": paper, "RC": rc} {
		for _, retries := range []int{1, 7} {
			qp.Conn.RetryCount = retries
			n := newNetwork(t, paths(2, 10*gbps, 10*gbps), Config{Seed: 1})
			everyPath(2, func(link string) { impair(t, n, 0, link, Forth, Impairment{Down: true}) })
			traffic := carry(t, n, qp, workload.Flow{Src: 0, Dst: 1, Bytes: 10_000})
			n.Run(100 * Second)
			r := traffic.Result(0)
			exact := r.Timeouts == uint64(retries)+1 || qp.Type == verbs.MP && r.Timeouts > uint64(retries)
			if !errors.Is(r.Err, verbs.ErrRetryExceeded) || !exact {
				t.Errorf("%s, %d retries: %d timeouts, error %v", name, retries, r.Timeouts, r.Err)
			}
		}
	}
}
