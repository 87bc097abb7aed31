// Command datagram shows unreliable datagrams (UD): a queue pair sends to any
// other without a connection, and the receiver answers by what the completion
// says about the sender. Nothing repeats a datagram that is lost: a program
// that needs an answer sets itself a time and asks again.
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/braid-rdma/braid/udp"
	"github.com/braid-rdma/braid/verbs"
)

// qkey guards datagram queue pairs: both sides must use the same.
const qkey = 0x11223344

// end is one endpoint.
type end struct {
	dev *verbs.Device
	pd  *verbs.PD
	cq  *verbs.CQ // of receives; the sends ask for no completions
	mr  *verbs.MR
	qp  *verbs.QP
}

// open makes an endpoint with one receive posted.
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
	// In front of the payload there is room for a network header.
	if e.mr, err = e.pd.AllocMemory(verbs.GRHLength+256, verbs.LocalWrite); err != nil {
		log.Fatal("allocate memory: ", err)
	}
	if e.qp, err = e.pd.CreateQP(verbs.QPOptions{Type: verbs.UD, SendCQ: e.cq}); err != nil {
		log.Fatal("create a queue pair: ", err)
	}
	if err := e.qp.Activate(qkey); err != nil {
		log.Fatal("activate the queue pair: ", err)
	}
	if err := e.qp.PostRecv(&verbs.RecvWR{SGEs: []verbs.SGE{e.mr.All()}}); err != nil {
		log.Fatal("post a receive: ", err)
	}
	return e
}

func (e *end) send(to verbs.AH, number verbs.QPN, text string) {
	wr := verbs.SendWR{Op: verbs.OpSend, Inline: []byte(text), AH: to, RemoteQPN: number, RemoteQKey: qkey}
	if err := e.qp.PostSend(&wr); err != nil {
		log.Fatal("post a datagram: ", err)
	}
}

// receive waits for a datagram.
func (e *end) receive(ctx context.Context) (verbs.Completion, string) {
	var done [1]verbs.Completion
	if _, err := e.cq.Wait(ctx, done[:]); err != nil {
		log.Fatal("wait for a datagram: ", err)
	}
	if err := done[0].Err(); err != nil {
		log.Fatal("receive a datagram: ", err)
	}
	return done[0], string(e.mr.Bytes()[verbs.GRHLength:done[0].Bytes])
}

func main() {
	asker, server := open(), open()
	defer asker.dev.Close()
	defer server.dev.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()

	to, err := asker.pd.CreateAH(server.dev.Query().Local)
	if err != nil {
		log.Fatal("create an address handle: ", err)
	}
	asker.send(to, server.qp.Number(), "who are you?")

	c, text := server.receive(ctx)
	fmt.Printf("the server received %q from queue pair %v\n", text, c.SrcQP)
	server.send(c.Source, c.SrcQP, "the server")

	c, text = asker.receive(ctx)
	fmt.Printf("the asker received %q from queue pair %v\n", text, c.SrcQP)
}
