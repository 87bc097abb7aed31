// Command srq shows a shared receive queue: a server posts receives once for
// all its clients, and whichever client sends takes the next. An event tells
// the server when they run low.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/braid-rdma/braid/udp"
	"github.com/braid-rdma/braid/verbs"
)

const clients, receives, low, slot = 3, 8, 4, 64

// open makes a device on a free loopback address with a protection domain and
// a completion queue.
func open() (*verbs.Device, *verbs.PD, *verbs.CQ) {
	dev, err := udp.Open(udp.Config{})
	if err != nil {
		log.Fatal("open a device: ", err)
	}
	pd, err := dev.CreatePD()
	if err != nil {
		log.Fatal("create a protection domain: ", err)
	}
	cq, err := dev.CreateCQ(64)
	if err != nil {
		log.Fatal("create a completion queue: ", err)
	}
	return dev, pd, cq
}

// share makes a receive queue with receives posted, and arms its event.
func share(pd *verbs.PD) (*verbs.SRQ, *verbs.MR) {
	srq, err := pd.CreateSRQ(receives, 1)
	if err != nil {
		log.Fatal("create a shared receive queue: ", err)
	}
	mr, err := pd.AllocMemory(receives*slot, verbs.LocalWrite)
	if err != nil {
		log.Fatal("allocate memory: ", err)
	}
	for i := range receives {
		wr := verbs.RecvWR{ID: uint64(i), SGEs: []verbs.SGE{mr.SGE(i*slot, slot)}}
		if err := srq.PostRecv(&wr); err != nil {
			log.Fatal("post a receive: ", err)
		}
	}
	if err := srq.Arm(low); err != nil {
		log.Fatal("arm the event: ", err)
	}
	return srq, mr
}

func main() {
	serverDev, serverPD, serverCQ := open()
	defer serverDev.Close()
	clientDev, clientPD, clientCQ := open()
	defer clientDev.Close()
	srq, mr := share(serverPD)
	for i := range clients {
		server, err := serverPD.CreateQP(verbs.QPOptions{Type: verbs.MP, SendCQ: serverCQ, SRQ: srq})
		if err != nil {
			log.Fatal("create the server's queue pair: ", err)
		}
		client, err := clientPD.CreateQP(verbs.QPOptions{Type: verbs.MP, SendCQ: clientCQ})
		if err != nil {
			log.Fatal("create a client's queue pair: ", err)
		}
		if err := errors.Join(server.Connect(client.Params()), client.Connect(server.Params())); err != nil {
			log.Fatal("connect: ", err)
		}
		for j := range 2 {
			text := fmt.Sprintf("message %d of client %d", j+1, i+1)
			if err := client.PostSend(&verbs.SendWR{Op: verbs.OpSend, Inline: []byte(text)}); err != nil {
				log.Fatal("post a send: ", err)
			}
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var done [1]verbs.Completion
	for range 2 * clients {
		if _, err := serverCQ.Wait(ctx, done[:]); err != nil || done[0].Err() != nil {
			log.Fatal("receive: ", err, done[0].Err())
		}
		at := int(done[0].WRID) * slot
		fmt.Printf("receive %d, queue pair %v: %s\n", done[0].WRID, done[0].QPN, mr.Bytes()[at:at+int(done[0].Bytes)])
	}
	fmt.Printf("%v, %d receives are left\n", <-serverDev.Events(), srq.Len())
}
