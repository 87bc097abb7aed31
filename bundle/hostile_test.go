package bundle

import (
	"errors"
	"testing"

	"github.com/braid-rdma/braid/bundle/machine"
	"github.com/braid-rdma/braid/cm"
	"github.com/braid-rdma/braid/verbs"
)

// TestHello: what is not a bundle's request is refused, and tells why.
func TestHello(t *testing.T) {
	h := hello{index: 2, count: 3, id: 77, generation: 5}
	if got, err := parseHello(h.encode(), 64); err != nil || got != h {
		t.Errorf("got %+v, %v", got, err)
	}
	for name, b := range map[string][]byte{
		"short": h.encode()[:10],
		"magic": append([]byte("x"), h.encode()[1:]...),
		"index": (&hello{index: 3, count: 3}).encode(),
		"count": (&hello{index: 0, count: 65}).encode(),
	} {
		if _, err := parseHello(b, 64); !errors.Is(err, ErrProtocol) {
			t.Errorf("%s: got %v, want ErrProtocol", name, err)
		}
	}
}

// TestHalfAssembled: a peer that asks for queue pairs and never for all of them costs a
// bounded state; those beyond the bound are refused.
func TestHalfAssembled(t *testing.T) {
	a, b, _ := loopPair(t)
	l, err := Listen(b.manager, 0, b.config(1))
	must(t, err)
	cq, err := a.dev.CreateCQ(4096)
	must(t, err)
	var refused error
	for id := range uint64(maxAssembling + 1) {
		h := hello{index: 0, count: 2, id: id + 1}
		_, err := a.manager.Dial(testContext(t), l.Addr().String(), cm.Options{
			PD: a.pd, QP: verbs.QPOptions{SendCQ: cq, SendDepth: 4, RecvDepth: 4}, PrivateData: h.encode(),
		})
		if err != nil {
			if id < maxAssembling {
				t.Fatalf("request %d: %v", id, err)
			}
			refused = err
		}
	}
	if !errors.Is(refused, cm.ErrRejected) {
		t.Errorf("got %v, want a refusal", refused)
	}
	must(t, l.Close())
	b.leavesNothing()
}

// TestHostileMessage: a message that no machine sends ends the connection, and no other.
func TestHostileMessage(t *testing.T) {
	a, b, _ := loopPair(t)
	pair(t, a, b, 2, nil)
	a.conn.mu.Lock()
	h := machine.Header{Kind: machine.HeaderDelivered, Number: 99}
	l := a.conn.lanes[0]
	must(t, l.qp.PostSend(&verbs.SendWR{ID: byeTag, Op: verbs.OpSend, Flags: verbs.Signaled, Inline: h.Append(nil)}))
	l.outstanding++
	a.conn.mu.Unlock()
	select {
	case <-b.conn.Done():
	case <-testContext(t).Done():
	}
	if !errors.Is(b.conn.Err(), ErrProtocol) {
		t.Errorf("got %v, want ErrProtocol", b.conn.Err())
	}
}
