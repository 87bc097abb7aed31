// Command read shows an RDMA READ: one side fetches bytes from the other's
// memory, into two buffers at once. The owner of the memory takes no part.
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/braid-rdma/braid/udp"
	"github.com/braid-rdma/braid/verbs"
)

// end is one side of the connection.
type end struct {
	dev *verbs.Device
	pd  *verbs.PD
	cq  *verbs.CQ
	qp  *verbs.QP
}

// open makes a device on a free loopback address with a queue pair.
func open() (e end) {
	var err error
	if e.dev, err = udp.Open(udp.Config{}); err != nil {
		log.Fatal("open a device: ", err)
	}
	if e.pd, err = e.dev.CreatePD(); err != nil {
		log.Fatal("create a protection domain: ", err)
	}
	if e.cq, err = e.dev.CreateCQ(16); err != nil {
		log.Fatal("create a completion queue: ", err)
	}
	if e.qp, err = e.pd.CreateQP(verbs.QPOptions{Type: verbs.MP, SendCQ: e.cq}); err != nil {
		log.Fatal("create a queue pair: ", err)
	}
	return e
}

func main() {
	reader, owner := open(), open()
	defer reader.dev.Close()
	defer owner.dev.Close()
	if err := reader.qp.Connect(owner.qp.Params()); err != nil {
		log.Fatal("connect the reader: ", err)
	}
	if err := owner.qp.Connect(reader.qp.Params()); err != nil {
		log.Fatal("connect the owner: ", err)
	}

	// The owner lets peers read this buffer and nothing else: no write, no atomic.
	source, err := owner.pd.RegisterMemory([]byte("head:body of the record"), verbs.RemoteRead)
	if err != nil {
		log.Fatal("register the owner's memory: ", err)
	}
	head, err := reader.pd.AllocMemory(5, verbs.LocalWrite)
	if err != nil {
		log.Fatal("allocate memory for the head: ", err)
	}
	body, err := reader.pd.AllocMemory(64, verbs.LocalWrite)
	if err != nil {
		log.Fatal("allocate memory for the body: ", err)
	}

	err = reader.qp.PostSend(&verbs.SendWR{
		ID: 1, Op: verbs.OpRead, Flags: verbs.Signaled,
		SGEs: []verbs.SGE{
			head.SGE(0, 5),
			body.SGE(0, source.Len()-5),
		},
		RemoteAddr: source.Addr(), RKey: source.RKey(),
	})
	if err != nil {
		log.Fatal("post the read: ", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var done [1]verbs.Completion
	if _, err := reader.cq.Wait(ctx, done[:]); err != nil {
		log.Fatal("wait for the completion: ", err)
	}
	if err := done[0].Err(); err != nil {
		log.Fatal("read: ", err)
	}
	// The completion says that the bytes are here, so a plain read is safe.
	fmt.Printf("read %d bytes: %q and %q\n", done[0].Bytes, head.Bytes(), body.Bytes()[:source.Len()-5])
}
