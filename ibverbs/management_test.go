//go:build ibverbs && linux && cgo

package ibverbs

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/braid-rdma/braid/transport"
)

// delivered keeps what a queue pair reports.
type delivered []transport.Completion

func (d *delivered) Deliver(c *transport.Completion) { *d = append(*d, *c) }
func (d *delivered) Event(*transport.Event)          {}

// managementPair is queue pair 1 of no device, with a receive of 100 bytes behind the route header.
func managementPair(t *testing.T) (*managementQP, *delivered, *transport.Region) {
	t.Helper()
	out := &delivered{}
	memory := &transport.Region{Length: transport.GRHLength + 100, Bytes: make([]byte, transport.GRHLength+100), Access: allRights}
	q := &managementQP{
		engine: &engine{}, cfg: transport.Config{SendDepth: 2, RecvDepth: 2, MaxRecvSGE: 1}, recvs: newWorkQueue(2),
		state: transport.RTS, sink: out,
	}
	r := q.recvs.push(7, transport.OpRecv, true, 0)
	r.spans = append(r.spans, transport.Span{Region: memory, Length: uint32(memory.Length)})
	return q, out, memory
}

// A datagram of a stranger that is too long takes no receive: nobody is told, and the next one is taken.
func TestManagementDropsWhatIsTooLong(t *testing.T) {
	q, out, memory := managementPair(t)
	from := netip.MustParseAddr("192.0.2.1")
	q.deliver(make([]byte, 101), from)
	if len(*out) > 0 || q.recvs.len() != 1 {
		t.Fatalf("%+v, %d receives are left, want 1", *out, q.recvs.len())
	}
	payload := make([]byte, 100)
	payload[99] = 5
	q.deliver(payload, from)
	if len(*out) != 1 || (*out)[0].Status != transport.Success || (*out)[0].WRID != 7 || memory.Bytes[len(memory.Bytes)-1] != 5 {
		t.Errorf("%+v", *out)
	}
}

// Memory that was deregistered takes nothing.
func TestManagementAfterDeregister(t *testing.T) {
	q, out, memory := managementPair(t)
	memory.Invalid, memory.Bytes = true, nil
	q.deliver(make([]byte, 100), netip.MustParseAddr("192.0.2.1"))
	if len(*out) > 0 {
		t.Errorf("%+v", *out)
	}
}

// In error it takes no more requests at once than there is room for completions.
func TestManagementInErrorIsBounded(t *testing.T) {
	q, _, _ := managementPair(t)
	q.state = transport.Err
	for i := range 5 {
		err := q.flush(uint64(i), transport.OpSend)
		if full := i == 4; errors.Is(err, transport.ErrQueueFull) != full {
			t.Errorf("request %d: %v", i, err)
		}
	}
}
