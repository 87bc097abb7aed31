package verbs_test

import (
	"errors"
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
		for _, kind := range []verbs.QPType{verbs.RC, verbs.MP} {
			p := newPair(t, verbs.QPOptions{Type: kind, Conn: verbs.ConnOptions{Keepalive: test.option}})
			if got := p.a.qp.Query().Attr.Keepalive; got != test.want {
				t.Errorf("option %v: attribute %d, want %d", test.option, got, test.want)
			}
			if err := p.b.qp.SetKeepalive(test.option); err != nil {
				t.Fatal(err)
			}
			if got := p.b.qp.Query().Attr.Keepalive; got != test.want {
				t.Errorf("set to %v: attribute %d, want %d", test.option, got, test.want)
			}
		}
	}
}

func TestKeepaliveNeedsAConnection(t *testing.T) {
	p := newPair(t, verbs.QPOptions{Type: verbs.RC})
	if err := p.a.qp.Modify(verbs.Err, nil); err != nil {
		t.Fatal(err)
	}
	if err := p.a.qp.SetKeepalive(0); !errors.Is(err, verbs.ErrState) {
		t.Errorf("%v, want ErrState", err)
	}
}
