package verbs_test

import (
	"context"
	"fmt"
	"log"

	"github.com/braid-rdma/braid/internal/loopnet"
	"github.com/braid-rdma/braid/verbs"
)

// exampleEnd is one side of the example's connection.
type exampleEnd struct {
	dev *verbs.Device
	cq  *verbs.CQ
	qp  *verbs.QP
	mr  *verbs.MR
}

func openEnd(dev *verbs.Device) (e exampleEnd, err error) {
	e.dev = dev
	pd, err := dev.CreatePD()
	if err != nil {
		return e, err
	}
	if e.cq, err = dev.CreateCQ(256); err != nil {
		return e, err
	}
	if e.mr, err = pd.AllocMemory(1<<20, verbs.LocalWrite|verbs.RemoteWrite); err != nil {
		return e, err
	}
	e.qp, err = pd.CreateQP(verbs.QPOptions{Type: verbs.MP, SendCQ: e.cq})
	return e, err
}

// Two devices, one connection over all paths, one RDMA WRITE. The network is in
// memory here; udp.Open opens a device on a real one.
func Example() {
	network := loopnet.New(loopnet.Options{})
	a, err := openEnd(network.Open())
	if err != nil {
		log.Fatal(err)
	}
	defer a.dev.Close()
	b, err := openEnd(network.Open())
	if err != nil {
		log.Fatal(err)
	}
	defer b.dev.Close()

	pa, pb := a.qp.Params(), b.qp.Params()
	if err := a.qp.Connect(pb); err != nil {
		log.Fatal(err)
	}
	if err := b.qp.Connect(pa); err != nil {
		log.Fatal(err)
	}

	n := copy(a.mr.Bytes(), "over all paths")
	err = a.qp.PostSend(&verbs.SendWR{
		ID: 1, Op: verbs.OpWrite, Flags: verbs.Signaled,
		SGEs:       []verbs.SGE{a.mr.SGE(0, n)},
		RemoteAddr: b.mr.Addr(), RKey: b.mr.RKey(),
	})
	if err != nil {
		log.Fatal(err)
	}
	var done [1]verbs.Completion
	if _, err := a.cq.Wait(context.Background(), done[:]); err != nil {
		log.Fatal(err)
	}
	if err := done[0].Err(); err != nil {
		log.Fatal(err)
	}

	// The write has no completion at b, so b reads its memory with Snapshot.
	text := make([]byte, n)
	if err := b.mr.Load(0, text); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%v %s\n", done[0].Status, text)
	// Output: IBV_WC_SUCCESS over all paths
}
