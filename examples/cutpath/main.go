// Command cutpath shows what happens when a path fails: data moves over four
// paths, one of them silently loses everything for a while, and no request
// fails. The transport retires the path, probes it, and uses it again.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/udp"
	"github.com/braid-rdma/braid/verbs"
)

const paths, cut, depth, size = 4, 2, 16, 256 << 10

// end is one side of the connection.
type end struct {
	dev *verbs.Device
	cq  *verbs.CQ
	mr  *verbs.MR
	qp  *verbs.QP
}

func open() (e end) {
	var err error
	if e.dev, err = udp.Open(udp.Config{}); err != nil {
		log.Fatal("open a device: ", err)
	}
	pd, err := e.dev.CreatePD()
	if err != nil {
		log.Fatal("create a protection domain: ", err)
	}
	if e.cq, err = e.dev.CreateCQ(2 * depth); err != nil {
		log.Fatal("create a completion queue: ", err)
	}
	if e.mr, err = pd.AllocMemory(size, verbs.LocalWrite|verbs.RemoteWrite); err != nil {
		log.Fatal("allocate memory: ", err)
	}
	// Round robin gives each path the same, so that the output is easy to read.
	options := verbs.QPOptions{Type: verbs.MP, SendCQ: e.cq, SignalAll: true, Conn: verbs.ConnOptions{Paths: paths}}
	options.MP.Policy = transport.NewRoundRobin
	if e.qp, err = pd.CreateQP(options); err != nil {
		log.Fatal("create a queue pair: ", err)
	}
	return e
}

// move keeps depth requests outstanding for a while, waits for the last of
// them, and prints what each path carried meanwhile.
func move(from, to end, what string) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	before, begin, finished := from.qp.PathStats(), time.Now(), 0
	done := make([]verbs.Completion, depth)
	wr := verbs.SendWR{Op: verbs.OpWrite, SGEs: []verbs.SGE{from.mr.SGE(0, size)}, RemoteAddr: to.mr.Addr(), RKey: to.mr.RKey()}
	for posted := 0; posted > finished || time.Since(begin) < 300*time.Millisecond; {
		for ; posted-finished < depth && time.Since(begin) < 300*time.Millisecond; posted++ {
			if err := from.qp.PostSend(&wr); err != nil {
				log.Fatal("post a write: ", err)
			}
		}
		n, err := from.cq.Wait(ctx, done)
		for i := range done[:n] {
			err = errors.Join(err, done[i].Err())
		}
		if err != nil {
			log.Fatal("write: ", err)
		}
		finished += n
	}
	fmt.Printf("%-22s %4d MiB; packets by path:", what, finished*size>>20)
	for i, after := range from.qp.PathStats() {
		fmt.Printf(" %6d", after.Sent-before[i].Sent)
	}
	fmt.Println()
}

func main() {
	from, to := open(), open()
	defer from.dev.Close()
	defer to.dev.Close()
	if err := errors.Join(from.qp.Connect(to.qp.Params()), to.qp.Connect(from.qp.Params())); err != nil {
		log.Fatal("connect: ", err)
	}
	faults := udp.FaultsOf(from.dev)
	move(from, to, "all paths work")
	faults.Cut(cut)
	move(from, to, fmt.Sprintf("path %d cut", cut))
	faults.Restore(cut)
	move(from, to, fmt.Sprintf("path %d restored", cut))
	for len(from.dev.Events()) > 0 {
		fmt.Println(<-from.dev.Events())
	}
}
