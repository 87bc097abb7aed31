// Command errors shows how failures reach a program: a post that cannot be
// returns an error at once, a request that the peer refuses completes with one,
// and what comes after it is flushed. All work with errors.Is and errors.As.
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

// end is one side of the connection.
type end struct {
	dev *verbs.Device
	cq  *verbs.CQ
	mr  *verbs.MR
	qp  *verbs.QP
}

// open makes a device with memory that peers may read but not write.
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
	if e.mr, err = pd.AllocMemory(4096, verbs.LocalWrite|verbs.RemoteRead); err != nil {
		log.Fatal("allocate memory: ", err)
	}
	if e.qp, err = pd.CreateQP(verbs.QPOptions{Type: verbs.MP, SendCQ: e.cq}); err != nil {
		log.Fatal("create a queue pair: ", err)
	}
	return e
}

// want ends the program unless the error is the expected one.
func want(err, expected error) {
	if !errors.Is(err, expected) {
		log.Fatalf("got %v, want %v", err, expected)
	}
	fmt.Println(err)
}

func main() {
	client, server := open(), open()
	defer client.dev.Close()
	defer server.dev.Close()
	write := verbs.SendWR{
		ID: 1, Op: verbs.OpWrite, Flags: verbs.Signaled, Inline: []byte("not allowed"),
		RemoteAddr: server.mr.Addr(), RKey: server.mr.RKey(),
	}
	next := write
	next.ID = 2

	// A post that returns an error has had no effect: nothing completes for it.
	want(client.qp.PostSend(&write), verbs.ErrState)

	if err := errors.Join(client.qp.Connect(server.qp.Params()), server.qp.Connect(client.qp.Params())); err != nil {
		log.Fatal("connect: ", err)
	}
	if _, err := client.qp.PostSends([]verbs.SendWR{write, next}); err != nil {
		log.Fatal("post the writes: ", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var done [1]verbs.Completion
	for _, expected := range []error{verbs.ErrRemoteAccess, verbs.ErrFlushed} {
		if _, err := client.cq.Wait(ctx, done[:]); err != nil {
			log.Fatal("wait for a completion: ", err)
		}
		want(done[0].Err(), expected)
	}
	var failed *verbs.CompletionError
	if errors.As(done[0].Err(), &failed) {
		fmt.Printf("the last error is about work request %d\n", failed.WRID)
	}

	// Both queue pairs are in the error state, the refused bytes are nowhere, and
	// the server has an event that says why.
	fmt.Printf("client %v, server %v, %v, memory begins with %d\n",
		client.qp.State(), server.qp.State(), <-server.dev.Events(), server.mr.Bytes()[0])
}
