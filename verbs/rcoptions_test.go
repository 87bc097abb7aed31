package verbs_test

import (
	"errors"
	"testing"

	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

// countingRate lets everything go at once and counts it.
type countingRate struct{ packets int }

func (*countingRate) OnCNP(transport.Time)            {}
func (r *countingRate) OnSent(transport.Time, int)    { r.packets++ }
func (*countingRate) Rate(now transport.Time) float64 { return 1e12 }

func TestRCOptionsReachTheTransport(t *testing.T) {
	var made []*countingRate
	p := newPair(t, verbs.QPOptions{Type: verbs.RC, RC: transport.RCOptions{
		Rate: func() transport.RateControl {
			made = append(made, &countingRate{})
			return made[len(made)-1]
		},
	}})
	p.a.post(verbs.SendWR{ID: 1, Op: verbs.OpWrite, SGEs: p.a.sge(0, 1<<15), RemoteAddr: p.b.mr.Addr(), RKey: p.b.mr.RKey()})
	p.a.wantDone(1, verbs.OpWrite)
	told := 0
	for _, r := range made {
		told += r.packets
	}
	if sent := p.a.qp.Stats().PacketsSent; told == 0 || uint64(told) != sent {
		t.Errorf("the rate control was told of %d packets of %d", told, sent)
	}
}

func TestRCOptionsAreChecked(t *testing.T) {
	s := newPair(t, verbs.QPOptions{Type: verbs.RC}).a
	_, err := s.pd.CreateQP(verbs.QPOptions{Type: verbs.RC, SendCQ: s.cq, RC: transport.RCOptions{Overhead: -1}})
	if !errors.Is(err, transport.ErrAttr) {
		t.Errorf("got %v, want ErrAttr", err)
	}
}
