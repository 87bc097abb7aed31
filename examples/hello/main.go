// Command hello writes a greeting into the memory of another machine. Run it
// without an argument on one machine, and with the name of that one on another.
package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"log"
	"net"
	"os"

	"github.com/braid-rdma/braid/cm"
	"github.com/braid-rdma/braid/udp"
	"github.com/braid-rdma/braid/verbs"
)

func main() {
	ctx := context.Background()
	dev, err := udp.Open(udp.Config{}) // a device: it has the addresses of this host
	check(err)
	defer dev.Close()
	manager, err := cm.New(dev, cm.Config{}) // which makes and takes connections
	check(err)
	defer manager.Close()
	pd, err := dev.CreatePD()
	check(err)
	cq, err := dev.CreateCQ(256) // where completions arrive
	check(err)
	mr, err := pd.AllocMemory(4096, verbs.LocalWrite|verbs.RemoteWrite)
	check(err)
	options := cm.Options{PD: pd, QP: verbs.QPOptions{Type: verbs.MP, SendCQ: cq}}

	if len(os.Args) < 2 { // the server tells each client where its memory is
		options.PrivateData = binary.BigEndian.AppendUint64(nil, mr.Addr())
		options.PrivateData = binary.BigEndian.AppendUint32(options.PrivateData, uint32(mr.RKey()))
		listener, err := manager.Listen(7174)
		check(err)
		fmt.Println("listening at", dev.Query().Addrs)
		conn, err := listener.Accept(ctx, options)
		check(err)
		<-conn.Done()
		fmt.Printf("%v wrote %q\n", conn.RemoteAddr().Addr(), mr.Bytes()[:5])
		return
	}

	conn, err := manager.Dial(ctx, net.JoinHostPort(os.Args[1], "7174"), options)
	check(err)
	offer := conn.PrivateData()
	copy(mr.Bytes(), "hello")
	check(conn.QP().PostSend(&verbs.SendWR{
		Op: verbs.OpWrite, Flags: verbs.Signaled, SGEs: []verbs.SGE{mr.All()},
		RemoteAddr: binary.BigEndian.Uint64(offer), RKey: verbs.RKey(binary.BigEndian.Uint32(offer[8:])),
	}))
	var done [1]verbs.Completion
	_, err = cq.Wait(ctx, done[:])
	check(err)
	check(done[0].Err())
	fmt.Println("written over", conn.QP().Query().Attr.Paths, "paths")
	check(conn.Close())
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
