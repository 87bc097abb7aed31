// Package verbs is RDMA as programs use it: a Device with protection domains,
// registered memory, completion queues, queue pairs and shared receive queues,
// in the vocabulary of libibverbs.
//
//	PostSend, PostRecv ──> QP ──> Engine ──> network ──> the peer's Engine
//	Poll, Wait <── CQ <── completions <── Engine       its memory, its CQ
//
// It imports no engine: it is handed one (see Engine). Package udp opens a
// device on ordinary sockets, package ibverbs one on an RNIC.
//
// # Rules of use
//
//  1. Register the memory that work requests name, by MR.SGE and MR.All; give
//     peers the address and remote key of what they may reach.
//  2. Connect a queue pair with the peer's parameters. Package cm does it by
//     address and port, also with peers that are not braid; any other way to
//     exchange the parameters will do.
//  3. Post work. A post that returns an error has had no effect. One that
//     returns nil completes exactly once, in posting order, unless it is an
//     unsignalled send that succeeds.
//  4. Do not touch the memory of a request until its completion, except where
//     it was inline. Bytes that peers write without a completion are read with
//     MR.LoadUint64, MR.LoadUint32 or MR.Load: a plain read of them is a
//     data race in Go.
//  5. Poll or Wait. Both run the engine in the caller's thread.
//  6. Look at Completion.Err. After a failure the queue pair is in the error
//     state and everything outstanding completes as flushed.
//  7. Close. Closing the device closes all.
//
// All methods may be called from any thread.
//
// # A complete program
//
// The program connects two devices of one process and writes from one to the
// other's memory. With peers in two processes, Dial and Accept of package cm take
// the place of the two calls of Connect.
//
//	package main
//
//	import (
//		"context"
//		"fmt"
//		"log"
//
//		"github.com/braid-rdma/braid/udp"
//		"github.com/braid-rdma/braid/verbs"
//	)
//
//	// end is one side of the connection.
//	type end struct {
//		cq *verbs.CQ
//		qp *verbs.QP
//		mr *verbs.MR
//	}
//
//	func open() (end, error) {
//		dev, err := udp.Open(udp.Config{})
//		if err != nil {
//			return end{}, err
//		}
//		pd, err := dev.CreatePD()
//		if err != nil {
//			return end{}, err
//		}
//		var e end
//		if e.cq, err = dev.CreateCQ(256); err != nil {
//			return end{}, err
//		}
//		if e.mr, err = pd.AllocMemory(1<<20, verbs.LocalWrite|verbs.RemoteWrite); err != nil {
//			return end{}, err
//		}
//		e.qp, err = pd.CreateQP(verbs.QPOptions{Type: verbs.MP, SendCQ: e.cq})
//		return e, err
//	}
//
//	func main() {
//		a, err := open()
//		if err != nil {
//			log.Fatal(err)
//		}
//		b, err := open()
//		if err != nil {
//			log.Fatal(err)
//		}
//		pa, pb := a.qp.Params(), b.qp.Params()
//		if err := a.qp.Connect(pb); err != nil {
//			log.Fatal(err)
//		}
//		if err := b.qp.Connect(pa); err != nil {
//			log.Fatal(err)
//		}
//
//		n := copy(a.mr.Bytes(), "over all paths")
//		err = a.qp.PostSend(&verbs.SendWR{
//			ID: 1, Op: verbs.OpWrite, Flags: verbs.Signaled,
//			SGEs:       []verbs.SGE{a.mr.SGE(0, n)},
//			RemoteAddr: b.mr.Addr(), RKey: b.mr.RKey(),
//		})
//		if err != nil {
//			log.Fatal(err)
//		}
//		var done [1]verbs.Completion
//		if _, err := a.cq.Wait(context.Background(), done[:]); err != nil {
//			log.Fatal(err)
//		}
//		if err := done[0].Err(); err != nil {
//			log.Fatal(err)
//		}
//
//		// The write has no completion at b, so b reads its memory with Load.
//		text := make([]byte, n)
//		if err := b.mr.Load(0, text); err != nil {
//			log.Fatal(err)
//		}
//		fmt.Printf("%s\n", text)
//	}
package verbs
