// Command send shows SEND and RECV: a message goes into memory that the
// receiver chose, and completes on both sides. The second message carries
// immediate data, and its bytes go inline, from memory that nobody registered.
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/braid-rdma/braid/udp"
	"github.com/braid-rdma/braid/verbs"
)

const slot = 64 // bytes of each receive buffer

// end is one side of the connection.
type end struct {
	dev *verbs.Device
	cq  *verbs.CQ
	mr  *verbs.MR
	qp  *verbs.QP
}

// open makes a device on a free loopback address with memory and a queue pair.
func open() (e end) {
	var err error
	if e.dev, err = udp.Open(udp.Config{}); err != nil {
		log.Fatal("open a device: ", err)
	}
	pd, err := e.dev.CreatePD()
	if err != nil {
		log.Fatal("create a protection domain: ", err)
	}
	if e.cq, err = e.dev.CreateCQ(16); err != nil {
		log.Fatal("create a completion queue: ", err)
	}
	if e.mr, err = pd.AllocMemory(2*slot, verbs.LocalWrite); err != nil {
		log.Fatal("allocate memory: ", err)
	}
	if e.qp, err = pd.CreateQP(verbs.QPOptions{Type: verbs.MP, SendCQ: e.cq}); err != nil {
		log.Fatal("create a queue pair: ", err)
	}
	return e
}

func main() {
	sender, receiver := open(), open()
	defer sender.dev.Close()
	defer receiver.dev.Close()

	// Receives are posted before the peer can send, in state INIT.
	if err := receiver.qp.Prepare(); err != nil {
		log.Fatal("prepare the receiver: ", err)
	}
	for i := range 2 {
		wr := verbs.RecvWR{ID: uint64(i), SGEs: []verbs.SGE{receiver.mr.SGE(i*slot, slot)}}
		if err := receiver.qp.PostRecv(&wr); err != nil {
			log.Fatal("post a receive: ", err)
		}
	}
	if err := receiver.qp.Connect(sender.qp.Params()); err != nil {
		log.Fatal("connect the receiver: ", err)
	}
	if err := sender.qp.Connect(receiver.qp.Params()); err != nil {
		log.Fatal("connect the sender: ", err)
	}

	n := copy(sender.mr.Bytes(), "from registered memory")
	if _, err := sender.qp.PostSends([]verbs.SendWR{
		{ID: 10, Op: verbs.OpSend, SGEs: []verbs.SGE{sender.mr.SGE(0, n)}},
		{ID: 11, Op: verbs.OpSendImm, Imm: 2026, Inline: []byte("inline"), Flags: verbs.Signaled},
	}); err != nil {
		log.Fatal("post the sends: ", err)
	}

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var done [1]verbs.Completion
	for range 2 {
		if _, err := receiver.cq.Wait(ctx, done[:]); err != nil {
			log.Fatal("wait for a message: ", err)
		}
		c := &done[0]
		if err := c.Err(); err != nil {
			log.Fatal("receive: ", err)
		}
		at := int(c.WRID) * slot // the request's ID tells its buffer
		fmt.Printf("receive %d: %q, immediate data: %v %d\n",
			c.WRID, receiver.mr.Bytes()[at:at+int(c.Bytes)], c.HasImm, c.Imm)
	}
	// Only the second send asked for a completion. Completions keep the order of
	// posting, so this one says that the first is done as well.
	if _, err := sender.cq.Wait(ctx, done[:]); err != nil || done[0].Err() != nil {
		log.Fatal("wait for the send: ", err, done[0].Err())
	}
	fmt.Printf("send %d: %v\n", done[0].WRID, done[0].Status)
}
