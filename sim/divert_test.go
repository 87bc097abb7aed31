package sim

import (
	"errors"
	"testing"

	"github.com/braid-rdma/braid/verbs"
)

// TestDivert: a connection whose packets take a carrier, in one direction or both, works while the
// network is cut, and when it returns nothing is lost and nothing happens twice.
func TestDivert(t *testing.T) {
	for name, o := range map[string]verbs.QPOptions{"RC": rc, "MP": wired} {
		t.Run(name, func(t *testing.T) {
			n := newNetwork(t, leafSpine(2, 1, 2), Config{Seed: 1, MTU: 1024, Verify: true})
			a, b := pair(t, n, o)
			last := n.Hosts() - 1
			exercise(t, a, b)
			a.must(n.Impair(n.Now()+1, "h0-leaf0", Both, Impairment{Down: true}))
			a.must(n.Divert(0, last, 7*Microsecond))
			a.must(n.Divert(last, 0, 9*Microsecond))
			before := n.Now()
			a.request(verbs.SendWR{Op: verbs.OpWrite, SGEs: []verbs.SGE{a.mr.SGE(0, 8)}, RemoteAddr: b.mr.Addr(), RKey: b.mr.RKey()})
			if took := n.Now() - before; took != 16*Microsecond {
				t.Errorf("a WRITE took %v by carriers of 7 and 9 µs", took)
			}
			a.must(n.Impair(n.Now()+1, "h0-leaf0", Both, Impairment{}))
			a.must(n.Divert(last, 0, 0)) // the two directions need not change together
			a.request(verbs.SendWR{Op: verbs.OpRead, SGEs: []verbs.SGE{a.mr.SGE(0, 5000)}, RemoteAddr: b.mr.Addr(), RKey: b.mr.RKey()})
			a.must(n.Divert(0, last, 0))
			a.request(verbs.SendWR{Op: verbs.OpRead, SGEs: []verbs.SGE{a.mr.SGE(0, 5000)}, RemoteAddr: b.mr.Addr(), RKey: b.mr.RKey()})
			a.must(a.dev.Close())
			b.must(b.dev.Close())
			n.Run(1000 * Second)
			a.must(n.AuditEnd())
		})
	}
	n := newNetwork(t, leafSpine(2, 1, 2), Config{Seed: 1, Workers: 2})
	if err := n.Divert(0, 1, Microsecond); !errors.Is(err, ErrConfig) {
		t.Errorf("with two workers: %v", err)
	}
}
