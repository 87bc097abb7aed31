package verbs_test

import (
	"errors"
	"math"
	"testing"

	"github.com/braid-rdma/braid/verbs"
)

// A post that is wrong fails at once and has no effect.
func TestPostRefuses(t *testing.T) {
	p := newPair(t, verbs.QPOptions{Type: verbs.RC, SendDepth: 2, MaxSendSGE: 2})
	otherPD, err := p.a.dev.CreatePD()
	must(t, err)
	other, err := otherPD.AllocMemory(64, verbs.LocalWrite)
	must(t, err)
	readOnly, err := p.a.pd.AllocMemory(64, 0)
	must(t, err)
	gone, err := p.a.pd.AllocMemory(64, 0)
	must(t, err)
	must(t, gone.Deregister())
	end := p.a.mr.Len()
	for name, c := range map[string]struct {
		wr   verbs.SendWR
		want error
	}{
		"no region":        {verbs.SendWR{SGEs: []verbs.SGE{{Length: 1}}}, verbs.ErrRange},
		"beyond by one":    {verbs.SendWR{SGEs: p.a.sge(1, end)}, verbs.ErrRange},
		"negative offset":  {verbs.SendWR{SGEs: p.a.sge(-1, 1)}, verbs.ErrRange},
		"negative length":  {verbs.SendWR{SGEs: p.a.sge(0, -1)}, verbs.ErrRange},
		"overflow":         {verbs.SendWR{SGEs: p.a.sge(int(^uint(0)>>1), 2)}, verbs.ErrRange},
		"nothing outside":  {verbs.SendWR{SGEs: p.a.sge(-1, 0)}, verbs.ErrRange},
		"too long to say":  {verbs.SendWR{SGEs: p.a.sge(8, math.MaxInt)}, verbs.ErrRange},
		"other domain":     {verbs.SendWR{SGEs: []verbs.SGE{other.SGE(0, 1)}}, verbs.ErrForeign},
		"other device":     {verbs.SendWR{SGEs: p.b.sge(0, 1)}, verbs.ErrForeign},
		"deregistered":     {verbs.SendWR{SGEs: []verbs.SGE{gone.SGE(0, 1)}}, verbs.ErrLocalAccess},
		"read into source": {verbs.SendWR{Op: verbs.OpRead, SGEs: []verbs.SGE{readOnly.SGE(0, 1)}}, verbs.ErrLocalAccess},
		"elements":         {verbs.SendWR{SGEs: append(append(p.a.sge(0, 1), p.a.sge(1, 1)...), p.a.sge(2, 1)...)}, verbs.ErrTooManySGE},
		"very many":        {verbs.SendWR{SGEs: make([]verbs.SGE, 1000)}, verbs.ErrTooManySGE},
		"inline":           {verbs.SendWR{Inline: make([]byte, 1000)}, verbs.ErrInline},
		"atomic":           {verbs.SendWR{Op: verbs.OpFetchAdd, SGEs: p.a.sge(0, 4)}, verbs.ErrAtomicShape},
		"operation":        {verbs.SendWR{Op: verbs.OpRecv}, verbs.ErrOperation},
	} {
		if err := p.a.qp.PostSend(&c.wr); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	if err := p.a.qp.PostRecv(&verbs.RecvWR{SGEs: []verbs.SGE{readOnly.SGE(0, 1)}}); !errors.Is(err, verbs.ErrLocalAccess) {
		t.Errorf("receive into memory without LocalWrite: %v", err)
	}
	p.cut()
	wrs := []verbs.SendWR{p.write(1), p.write(2), p.write(3)}
	if n, err := p.a.qp.PostSends(wrs); n != 2 || !errors.Is(err, verbs.ErrQueueFull) {
		t.Errorf("batch of three into a queue of two: %d, %v", n, err)
	}
	p.a.wantIdle()
}

func TestPostNeedsState(t *testing.T) {
	p := newPair(t, verbs.QPOptions{Type: verbs.RC})
	qp, err := p.a.pd.CreateQP(verbs.QPOptions{SendCQ: p.a.cq})
	must(t, err)
	if err := qp.PostRecv(&verbs.RecvWR{}); !errors.Is(err, verbs.ErrState) {
		t.Errorf("receive in RESET: %v", err)
	}
	must(t, qp.Prepare())
	must(t, qp.PostRecv(&verbs.RecvWR{}))
	if err := qp.PostSend(&verbs.SendWR{}); !errors.Is(err, verbs.ErrState) {
		t.Errorf("send in INIT: %v", err)
	}
	if err := qp.Modify(verbs.RTS, nil); !errors.Is(err, verbs.ErrState) {
		t.Errorf("INIT to RTS: %v", err)
	}
	if err := qp.Modify(verbs.RTR, nil); !errors.Is(err, verbs.ErrParams) {
		t.Errorf("RTR without a peer: %v", err)
	}
	before := qp.Params().PSN
	must(t, qp.Modify(verbs.Reset, nil))
	p.a.wantIdle()
	// One in 2^24 draws the same number again; two in a row do not happen.
	if qp.Params().PSN == before {
		must(t, qp.Modify(verbs.Reset, nil))
		if qp.Params().PSN == before {
			t.Error("a reset queue pair begins with the packet number of its last connection")
		}
	}
}

func TestSharedReceiveQueue(t *testing.T) {
	p := newPair(t, verbs.QPOptions{Type: verbs.RC})
	srq, err := p.b.pd.CreateSRQ(4, 1)
	must(t, err)
	var senders []*verbs.QP
	for range 2 {
		from, err := p.a.pd.CreateQP(verbs.QPOptions{SendCQ: p.a.cq})
		must(t, err)
		to, err := p.b.pd.CreateQP(verbs.QPOptions{SendCQ: p.b.cq, SRQ: srq})
		must(t, err)
		pf, pt := from.Params(), to.Params()
		must(t, from.Connect(pt))
		must(t, to.Connect(pf))
		if err := to.PostRecv(&verbs.RecvWR{}); !errors.Is(err, verbs.ErrState) {
			t.Fatalf("own receive beside a shared queue: %v", err)
		}
		senders = append(senders, from)
	}
	var wrs []verbs.RecvWR
	for id := range uint64(5) {
		wrs = append(wrs, verbs.RecvWR{ID: id, SGEs: p.b.sge(int(id)*8, 8)})
	}
	if n, err := srq.PostRecvs(wrs); n != 4 || !errors.Is(err, verbs.ErrQueueFull) {
		t.Fatalf("five receives into a queue of four: %d, %v", n, err)
	}
	must(t, srq.Arm(3))
	from := make(map[verbs.QPN]int)
	for i := range 4 {
		must(t, senders[i%2].PostSend(&verbs.SendWR{Op: verbs.OpSend, Inline: []byte{byte(i)}}))
		c := p.b.wait()
		if c.Err() != nil || c.WRID != uint64(i) || p.b.mr.Bytes()[i*8] != byte(i) {
			t.Fatalf("message %d: %+v", i, c)
		}
		from[c.QPN]++
	}
	if len(from) != 2 || srq.Len() != 0 {
		t.Fatalf("served %v, %d left", from, srq.Len())
	}
	if e := p.b.wantEvent(verbs.EventSRQLimit); e.SRQ != srq {
		t.Fatalf("event %+v", e)
	}
	// The event comes once for each time that it is asked for.
	must(t, srq.Arm(1))
	p.b.wantEvent(verbs.EventSRQLimit)
	select {
	case e := <-p.b.dev.Events():
		t.Fatalf("one event too many: %v", e)
	default:
	}
}

func TestStatsNames(t *testing.T) {
	p := newPair(t, verbs.QPOptions{Type: verbs.RC})
	wr := p.write(1)
	must(t, p.a.qp.PostSend(&wr))
	p.a.wantDone(1, verbs.OpWrite)
	stats := p.a.qp.Stats()
	m := stats.Map()
	for _, name := range []string{
		"out_of_sequence", "packet_seq_err", "rnr_nak_retry_err", "local_ack_timeout_err", "np_cnp_sent",
		"rp_cnp_handled", "np_ecn_marked_roce_packets", "mp_ooo_accepted", "retransmits",
	} {
		if v, ok := m[name]; !ok || v != 0 {
			t.Errorf("%s: %d, %v", name, v, ok)
		}
	}
	if m["tx_packets"] == 0 || stats.PacketsSent != m["tx_packets"] {
		t.Errorf("tx_packets %d, counter %d", m["tx_packets"], stats.PacketsSent)
	}
}
