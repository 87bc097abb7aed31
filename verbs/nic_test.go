package verbs

import (
	"errors"
	"net/netip"
	"slices"
	"testing"

	"github.com/braid-rdma/braid/transport"
)

// fakeNIC is an adapter that has fixed numbers and keys. Its queue pairs are those of
// the transport, behind a type that verbs does not know.
type fakeNIC struct {
	*idleEngine
	posted       []SendWR
	deregistered int
}

type fakeNICQP struct {
	transport.QP
	nic *fakeNIC
}

func (q *fakeNICQP) PostSend(now transport.Time, wr *SendWR) error {
	if q.nic.posted != nil {
		kept := *wr
		kept.SGEs, kept.Inline = slices.Clone(wr.SGEs), slices.Clone(wr.Inline)
		q.nic.posted = append(q.nic.posted, kept)
	}
	return q.QP.PostSend(now, wr)
}

func (n *fakeNIC) NewQP(kind QPType, cfg transport.Config) (transport.QP, error) {
	if kind != UD {
		return nil, errors.ErrUnsupported
	}
	cfg.Number = 0x77
	q, err := asQP(transport.NewUD(cfg))
	return &fakeNICQP{q, n}, err
}

func (n *fakeNIC) Register(r *transport.Region) error {
	if r.Access&RemoteInvalidate != 0 {
		return errors.ErrUnsupported
	}
	r.LKey, r.RKey = 0x1100, 0x2200
	return nil
}

func (n *fakeNIC) Deregister(*transport.Region) error {
	n.deregistered++
	return errors.ErrUnsupported
}

// newNICQP is a datagram queue pair of a fakeNIC, ready to send.
func newNICQP(t *testing.T) (*fakeNIC, *PD, *QP, *MR) {
	t.Helper()
	nic := &fakeNIC{idleEngine: newIdleEngine()}
	d := Open(nic)
	t.Cleanup(func() { d.Close() })
	pd, err := d.CreatePD()
	if err != nil {
		t.Fatal(err)
	}
	cq, err := d.CreateCQ(16)
	if err != nil {
		t.Fatal(err)
	}
	q, err := pd.CreateQP(QPOptions{Type: UD, SendCQ: cq, SignalAll: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := q.Activate(1); err != nil {
		t.Fatal(err)
	}
	m, err := pd.AllocMemory(64, LocalWrite)
	if err != nil {
		t.Fatal(err)
	}
	return nic, pd, q, m
}

func TestANICChoosesNumbersAndKeys(t *testing.T) {
	nic, pd, q, m := newNICQP(t)
	if q.Number() != 0x77 || q.Params().QPN != 0x77 {
		t.Errorf("queue pair %v with parameters %+v, want the NIC's number 0x77", q.Number(), q.Params())
	}
	if m.LKey() != 0x1100 || m.RKey() != 0x2200 {
		t.Errorf("keys %#x and %#x, want those of the NIC", m.LKey(), m.RKey())
	}
	if _, err := m.Rekey(); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("Rekey: %v", err)
	}
	if _, err := pd.AllocMemory(64, RemoteInvalidate); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a region that the NIC refuses: %v", err)
	}
	if _, err := pd.CreateQP(QPOptions{Type: MP, SendCQ: q.sendCQ}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a queue pair that the NIC refuses: %v", err)
	}
	if err := m.Deregister(); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("Deregister hides the NIC's error: %v", err)
	}
	if err := m.Deregister(); err != nil || nic.deregistered != 1 {
		t.Errorf("the second Deregister: %v; the NIC was asked %d times", err, nic.deregistered)
	}
}

// A NIC's queue pair gets the request as it is, and the program's stays where it is.
func TestPostingToANICDoesNotAllocate(t *testing.T) {
	nic, pd, q, m := newNICQP(t)
	to, err := pd.CreateAH(netip.MustParseAddr("192.0.2.2"))
	if err != nil {
		t.Fatal(err)
	}
	var out [2]Completion
	post := func() {
		if err := q.PostSend(&SendWR{ID: 7, Op: OpSendImm, Imm: 9, SGEs: []SGE{m.SGE(0, 8), m.SGE(8, 4)}, AH: to, RemoteQPN: 3, RemoteQKey: 4}); err != nil {
			t.Fatal(err)
		}
		if err := q.PostSend(&SendWR{ID: 8, Op: OpSend, Inline: []byte("inline"), AH: to}); err != nil {
			t.Fatal(err)
		}
		if n, err := q.sendCQ.Poll(out[:]); n != 2 || err != nil {
			t.Fatal(n, err)
		}
	}
	if allocs := testing.AllocsPerRun(100, post); allocs != 0 {
		t.Errorf("%v allocations per two posts", allocs)
	}
	nic.posted = []SendWR{}
	post()
	first, second := nic.posted[0], nic.posted[1]
	if first.ID != 7 || first.Op != OpSendImm || first.Imm != 9 || len(first.SGEs) != 2 || first.SGEs[1] != m.SGE(8, 4) || first.Inline != nil ||
		first.AH != to || first.RemoteQPN != 3 || first.RemoteQKey != 4 {
		t.Errorf("the NIC got %+v", first)
	}
	if second.ID != 8 || string(second.Inline) != "inline" || len(second.SGEs) != 0 {
		t.Errorf("the NIC got %+v", second)
	}
	if err := q.PostSend(&SendWR{Op: OpSend, Inline: make([]byte, 1<<16), AH: to}); !errors.Is(err, ErrInline) {
		t.Errorf("64 KiB inline: %v", err)
	}
}
