package verbs_test

import (
	"errors"
	"testing"

	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

func TestSeamsAreSwappedOnALiveConnection(t *testing.T) {
	p := newPair(t, verbs.QPOptions{Type: verbs.MP})
	for i, policy := range []func() error{
		func() error { return p.a.qp.SetPolicy(transport.NewSinglePath) },
		func() error { return p.a.qp.SetPolicy(transport.NewRandomSpray) },
		func() error { return p.a.qp.SetCongestionControl(transport.NewFixedWindow) },
	} {
		must(t, policy())
		p.a.post(verbs.SendWR{ID: uint64(i), Op: verbs.OpWrite, SGEs: p.a.sge(0, 1<<15), RemoteAddr: p.b.mr.Addr(), RKey: p.b.mr.RKey()})
		p.a.wantDone(uint64(i), verbs.OpWrite)
	}
}

func TestSeamsBelongToConnectedMP(t *testing.T) {
	p := newPair(t, verbs.QPOptions{Type: verbs.RC})
	if err := p.a.qp.SetPolicy(transport.NewSinglePath); !errors.Is(err, verbs.ErrParams) {
		t.Errorf("RC: %v", err)
	}
	p = newPair(t, verbs.QPOptions{Type: verbs.MP})
	must(t, p.a.qp.Modify(verbs.Reset, nil))
	if err := p.a.qp.SetCongestionControl(transport.NewFixedWindow); !errors.Is(err, verbs.ErrState) {
		t.Errorf("not connected: %v", err)
	}
}
