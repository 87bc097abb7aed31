// Command synchronise shows how a reader without completions knows that data
// is whole. Packets of a multi-path connection update memory in any order, so a
// flag that is written after the data could be seen before it. A WRITE with the
// Synchronise flag updates memory only after everything before it. Lost packets
// make it visible: leave the flag out, and the program finds blocks with holes.
package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/braid-rdma/braid/udp"
	"github.com/braid-rdma/braid/verbs"
)

const (
	rounds = 32
	block  = 128 << 10
	flag   = rounds * block // offset of the flag, behind the blocks
)

// end is one side of the connection.
type end struct {
	dev *verbs.Device
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
	cq, err := e.dev.CreateCQ(2 * rounds)
	if err != nil {
		log.Fatal("create a completion queue: ", err)
	}
	if e.mr, err = pd.AllocMemory(flag+8, verbs.LocalWrite|verbs.RemoteWrite); err != nil {
		log.Fatal("allocate memory: ", err)
	}
	if e.qp, err = pd.CreateQP(verbs.QPOptions{Type: verbs.MP, SendCQ: cq}); err != nil {
		log.Fatal("create a queue pair: ", err)
	}
	return e
}

// write posts a block and then the flag that announces it, for every round.
func write(from, to end) {
	for i := range rounds {
		copy(from.mr.Bytes()[i*block:], bytes.Repeat([]byte{byte(i + 1)}, block))
		number := binary.NativeEndian.AppendUint64(nil, uint64(i+1))
		_, err := from.qp.PostSends([]verbs.SendWR{{
			Op: verbs.OpWrite, SGEs: []verbs.SGE{from.mr.SGE(i*block, block)},
			RemoteAddr: to.mr.Addr() + uint64(i*block), RKey: to.mr.RKey(),
		}, {
			Op: verbs.OpWrite, Inline: number, Flags: verbs.Synchronise | verbs.Signaled,
			RemoteAddr: to.mr.Addr() + flag, RKey: to.mr.RKey(),
		}})
		if err != nil {
			log.Fatal("post a block and its flag: ", err)
		}
	}
}

func main() {
	writer, reader := open(), open()
	defer writer.dev.Close()
	defer reader.dev.Close()
	for path := range writer.dev.Query().Paths {
		udp.FaultsOf(writer.dev).SetLoss(path, 0.02) // what is lost arrives late
	}
	if err := errors.Join(writer.qp.Connect(reader.qp.Params()), reader.qp.Connect(writer.qp.Params())); err != nil {
		log.Fatal("connect: ", err)
	}
	go write(writer, reader)

	deadline := time.Now().Add(20 * time.Second)
	got := make([]byte, block)
	for seen := uint64(0); seen < rounds; {
		reader.dev.Progress() // else only the engine's own thread would change the memory
		number, err := reader.mr.LoadUint64(flag)
		if err != nil || time.Now().After(deadline) {
			log.Fatalf("watch the flag: it is %d: %v", number, err)
		}
		for ; seen < number; seen++ {
			if err := reader.mr.Load(int(seen)*block, got); err != nil {
				log.Fatal("read a block: ", err)
			}
			if n := bytes.Count(got, []byte{byte(seen + 1)}); n != block {
				log.Fatalf("block %d was announced with %d of %d bytes", seen+1, n, block)
			}
		}
	}
	fmt.Printf("%d blocks of %d KiB, each whole when its flag was seen; %d packets had arrived out of order\n",
		rounds, block>>10, reader.qp.Stats().OOOAccepted)
}
