package ping

import (
	"fmt"
	"time"

	"github.com/braid-rdma/braid/cm"
	"github.com/braid-rdma/braid/verbs"
)

// endpoint is what both ends have: a datagram queue pair with its receives, and the queues in
// which all completions of the end come.
type endpoint struct {
	device *verbs.Device
	pd     *verbs.PD
	cq     *verbs.CQ
	sent   *verbs.CQ // of the datagrams that the end sends; may be the same
	qp     *verbs.QP
	qkey   uint32
	room   int // bytes of a receive
	mr     *verbs.MR
}

// openEndpoint makes an endpoint whose completion queue has room for more completions than those of
// datagrams. With apart those of what is sent have a queue of their own, so that they wake nobody.
func openEndpoint(m *cm.Manager, more int, apart bool) (e endpoint, err error) {
	e.device = m.Device()
	if e.pd, err = e.device.CreatePD(); err != nil {
		return e, err
	}
	defer func() {
		if err != nil {
			e.close()
		}
	}()
	if e.cq, err = createStampedCQ(e.device, datagramReceives+datagramSends+more); err != nil {
		return e, err
	}
	if e.sent = e.cq; apart {
		if e.sent, err = createStampedCQ(e.device, datagramSends); err != nil {
			return e, err
		}
	}
	e.qp, err = e.pd.CreateQP(verbs.QPOptions{
		Type: verbs.UD, SendCQ: e.sent, RecvCQ: e.cq, SendDepth: datagramSends, RecvDepth: datagramReceives, MaxInline: verbs.None,
	})
	if err != nil {
		return e, err
	}
	e.room = verbs.GRHLength + e.device.Query().MTU
	if e.mr, err = e.pd.AllocMemory(datagramReceives*e.room, verbs.LocalWrite); err != nil {
		return e, err
	}
	// The highest bit of a key would stand for the sender's own (IBTA 10.2.5).
	e.qkey = uint32(e.device.Engine().Random()) &^ (1 << 31)
	if err = e.qp.Activate(verbs.QKey(e.qkey)); err != nil {
		return e, err
	}
	for i := range datagramReceives {
		if err = e.receive(uint64(i)); err != nil {
			return e, err
		}
	}
	return e, nil
}

func createStampedCQ(d *verbs.Device, depth int) (*verbs.CQ, error) {
	cq, err := d.CreateCQ(depth)
	if err != nil {
		return nil, err
	}
	return cq, cq.StampArrivals()
}

// receive posts the receive with a number.
func (e *endpoint) receive(number uint64) error {
	err := e.qp.PostRecv(&verbs.RecvWR{ID: number, SGEs: []verbs.SGE{e.mr.SGE(int(number)*e.room, e.room)}})
	if err != nil {
		return fmt.Errorf("ping: receive datagrams: %w", err)
	}
	return nil
}

// datagram is where the payload of a receive lies.
func (e *endpoint) datagram(c *verbs.Completion) (b []byte, offset int) {
	offset = int(c.WRID)*e.room + verbs.GRHLength
	return e.mr.Bytes()[offset : offset+int(c.Bytes)-verbs.GRHLength], offset
}

// now is the clock of the stamps.
func (e *endpoint) now() time.Duration { return time.Duration(e.device.Engine().Now()) }

func (e *endpoint) close() {
	for _, cq := range []*verbs.CQ{e.cq, e.sent} {
		if cq != nil {
			cq.Close() // the queue pairs with it
		}
	}
	e.pd.Close() // the memory with it
}
