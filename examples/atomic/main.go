// Command atomic shows remote atomics: several clients count in one word by
// FETCH_ADD, and two of them ask for a lock by CMP_SWAP. The owner of the memory
// takes no part in either.
package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"log"
	"sync"
	"time"

	"github.com/braid-rdma/braid/udp"
	"github.com/braid-rdma/braid/verbs"
)

const (
	clients, draws = 3, 200
	counter, lock  = 0, 8 // offsets of the two words in the owner's memory
)

// client is a queue pair to the owner and a word for the results of atomics.
type client struct {
	cq     *verbs.CQ
	qp     *verbs.QP
	result *verbs.MR
	owner  *verbs.MR
}

// run executes one atomic and returns the value that the word had before it.
func (c *client) run(wr verbs.SendWR, offset uint64) uint64 {
	wr.Flags, wr.RKey, wr.RemoteAddr = verbs.Signaled, c.owner.RKey(), c.owner.Addr()+offset
	wr.SGEs = []verbs.SGE{c.result.SGE(0, 8)}
	if err := c.qp.PostSend(&wr); err != nil {
		log.Fatal("post an atomic: ", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var done [1]verbs.Completion
	if _, err := c.cq.Wait(ctx, done[:]); err != nil || done[0].Err() != nil {
		log.Fatal("atomic: ", err, done[0].Err())
	}
	return binary.NativeEndian.Uint64(c.result.Bytes())
}

// open makes a device with memory that peers may run atomics on, and a queue
// pair on it for each client.
func open() (c [clients]client) {
	dev, err := udp.Open(udp.Config{})
	if err != nil {
		log.Fatal("open a device: ", err)
	}
	pd, err := dev.CreatePD()
	if err != nil {
		log.Fatal("create a protection domain: ", err)
	}
	for i := range c {
		if c[i].cq, err = dev.CreateCQ(16); err != nil {
			log.Fatal("create a completion queue: ", err)
		}
		if c[i].result, err = pd.AllocMemory(16, verbs.LocalWrite|verbs.RemoteAtomic); err != nil {
			log.Fatal("allocate memory: ", err)
		}
		if c[i].qp, err = pd.CreateQP(verbs.QPOptions{Type: verbs.MP, SendCQ: c[i].cq}); err != nil {
			log.Fatal("create a queue pair: ", err)
		}
	}
	return c
}

func main() {
	near, far := open(), open()
	var workers sync.WaitGroup
	for i := range near {
		c := &near[i]
		c.owner = far[0].result
		if err := c.qp.Connect(far[i].qp.Params()); err != nil {
			log.Fatal("connect a client: ", err)
		}
		if err := far[i].qp.Connect(c.qp.Params()); err != nil {
			log.Fatal("connect the owner: ", err)
		}
		workers.Go(func() {
			for range draws {
				c.run(verbs.SendWR{Op: verbs.OpFetchAdd, SwapAdd: 1}, counter)
			}
		})
	}
	workers.Wait()
	total := near[0].run(verbs.SendWR{Op: verbs.OpFetchAdd, SwapAdd: 0}, counter)
	if total != clients*draws {
		log.Fatalf("the counter is %d after %d additions", total, clients*draws)
	}
	fmt.Printf("%d clients added 1 to the counter %d times each: it is %d\n", clients, draws, total)
	for i := range 2 {
		holder := near[i].run(verbs.SendWR{Op: verbs.OpCompareSwap, Compare: 0, SwapAdd: uint64(i + 1)}, lock)
		fmt.Printf("client %d asks for the lock: taken=%v, it was held by %d\n", i+1, holder == 0, holder)
	}
}
