package cm

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/braid-rdma/braid/internal/loopnet"
	"github.com/braid-rdma/braid/verbs"
)

// TestTicketSparesProof: who connects again is not asked to prove its address, unless it wants to.
func TestTicketSparesProof(t *testing.T) {
	bubble(t, func(t *testing.T, _ *loopnet.Network, a, b *side) {
		l, err := b.m.ListenProven(0)
		must(t, err)
		for i, noTicket := range []bool{false, false, false, true, false} {
			before := b.m.Counters().Retries
			accepted := b.accepting(l, b.options(verbs.MP, ""))
			o := a.options(verbs.MP, "")
			o.NoTicket = noTicket
			ca, err := a.m.Dial(testContext(t), l.Addr().String(), o)
			must(t, err)
			got := <-accepted
			must(t, got.err)
			a.write(ca, b)
			want := uint64(0)
			if i == 0 || noTicket {
				want = 1
			}
			if n := b.m.Counters().Retries - before; n != want {
				t.Errorf("dial %d: asked for proof %d times, want %d", i, n, want)
			}
			synctest.Wait() // for the ticket
			must(t, ca.Close())
			must(t, got.conn.Close())
		}
		must(t, l.Close())
		a.leaves()
		b.leaves()
	})
}

// TestReadyQueuePair: a connection takes the queue pair that it is given, as the peer wants it, and closes it
// if nothing comes of it.
func TestReadyQueuePair(t *testing.T) {
	for _, peer := range []verbs.QPType{verbs.MP, verbs.RC} {
		bubble(t, func(t *testing.T, _ *loopnet.Network, a, b *side) {
			l, err := b.m.Listen(0)
			must(t, err)
			o := a.options(verbs.MP, "")
			o.Ready, err = a.pd.CreateQP(o.QP)
			must(t, err)
			number := o.Ready.Number()
			accepted := b.accepting(l, b.options(peer, ""))
			o.QP.Conn.RetryCount = 3
			ca, err := a.m.Dial(testContext(t), l.Addr().String(), o)
			must(t, err)
			got := <-accepted
			must(t, got.err)
			if ca.QP().Number() != number || ca.QP().Type() != peer || ca.QP().Query().Attr.RetryCount != 3 {
				t.Errorf("%v %v with %d retries, want %v %v with 3", ca.QP().Type(), ca.QP().Number(), ca.QP().Query().Attr.RetryCount, peer, number)
			}
			a.write(ca, b)
			must(t, ca.Close())
			must(t, got.conn.Close())
			must(t, l.Close())
			for _, address := range []string{l.Addr().String(), "nowhere", "10.99.0.1:7"} {
				o.Ready, err = a.pd.CreateQP(o.QP)
				must(t, err)
				if _, err := a.m.Dial(testContext(t), address, o); err == nil {
					t.Errorf("%s is connected", address)
				}
				if err := o.Ready.Prepare(); !errors.Is(err, verbs.ErrClosed) {
					t.Errorf("after a dial to %s in vain the queue pair is open: %v", address, err)
				}
			}
			a.leaves()
			b.leaves()
		})
	}
}
