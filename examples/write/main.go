// Command write shows an RDMA WRITE over four paths: one side writes into the
// other's memory, and the other side does nothing for it. What each path carries
// is for the path policy to decide, and differs from run to run.
package main

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"time"

	"github.com/braid-rdma/braid/udp"
	"github.com/braid-rdma/braid/verbs"
)

const size = 16 << 20

// end is one side of the connection.
type end struct {
	dev *verbs.Device
	cq  *verbs.CQ
	mr  *verbs.MR
	qp  *verbs.QP
}

// open makes a device on a free loopback address, with memory that a peer may
// write and a queue pair that uses four paths.
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
	if e.mr, err = pd.AllocMemory(size, verbs.LocalWrite|verbs.RemoteWrite); err != nil {
		log.Fatal("allocate memory: ", err)
	}
	e.qp, err = pd.CreateQP(verbs.QPOptions{Type: verbs.MP, SendCQ: e.cq, Conn: verbs.ConnOptions{Paths: 4}})
	if err != nil {
		log.Fatal("create a queue pair: ", err)
	}
	return e
}

func main() {
	writer, target := open(), open()
	defer writer.dev.Close()
	defer target.dev.Close()
	if err := writer.qp.Connect(target.qp.Params()); err != nil {
		log.Fatal("connect the writer: ", err)
	}
	if err := target.qp.Connect(writer.qp.Params()); err != nil {
		log.Fatal("connect the target: ", err)
	}

	for i := range writer.mr.Bytes() {
		writer.mr.Bytes()[i] = byte(i * 7 >> 3)
	}
	err := writer.qp.PostSend(&verbs.SendWR{
		ID: 1, Op: verbs.OpWrite, Flags: verbs.Signaled,
		SGEs:       []verbs.SGE{writer.mr.SGE(0, size)},
		RemoteAddr: target.mr.Addr(), RKey: target.mr.RKey(),
	})
	if err != nil {
		log.Fatal("post the write: ", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var done [1]verbs.Completion
	if _, err := writer.cq.Wait(ctx, done[:]); err != nil {
		log.Fatal("wait for the completion: ", err)
	}
	if err := done[0].Err(); err != nil {
		log.Fatal("write: ", err)
	}

	// The write has no completion at the target, so the target reads its own
	// memory with Snapshot: a plain read would be a data race in Go.
	got := make([]byte, size)
	if err := target.mr.Load(0, got); err != nil {
		log.Fatal("look at the target's memory: ", err)
	}
	if !bytes.Equal(got, writer.mr.Bytes()) {
		log.Fatal("the target's memory differs from what was written")
	}
	fmt.Printf("wrote %d MiB in one request, and the target has every byte\n", size>>20)
	for path, s := range writer.qp.PathStats() {
		fmt.Printf("path %d carried %5d packets, %5.2f MiB\n", path, s.Sent, float64(s.Bytes)/(1<<20))
	}
}
