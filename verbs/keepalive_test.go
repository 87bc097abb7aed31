package verbs_test

import (
	"testing"
	"time"

	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

func TestKeepaliveReachesTheTransport(t *testing.T) {
	for _, test := range []struct {
		option time.Duration
		want   transport.Time
	}{
		{0, 10 * transport.Second},
		{3 * time.Millisecond, 3 * transport.Millisecond},
		{verbs.None, 0},
	} {
		p := newPair(t, verbs.QPOptions{Type: verbs.RC, Conn: verbs.ConnOptions{Keepalive: test.option}})
		if got := p.a.qp.Query().Attr.Keepalive; got != test.want {
			t.Errorf("option %v: attribute %d, want %d", test.option, got, test.want)
		}
	}
}
