package cm_test

import (
	"context"
	"fmt"
	"log"

	"github.com/braid-rdma/braid/cm"
	"github.com/braid-rdma/braid/internal/loopnet"
	"github.com/braid-rdma/braid/verbs"
)

// A server listens on a port of its device, a client dials it, and either ends
// the connection. Devices of package udp are used in the same way.
func Example() {
	network := loopnet.New(loopnet.Options{Paths: 4})
	open := func() (*verbs.Device, *cm.Manager, cm.Options) {
		dev := network.Open()
		manager, err := cm.New(dev, cm.Config{})
		if err != nil {
			log.Fatal(err)
		}
		pd, err := dev.CreatePD()
		if err != nil {
			log.Fatal(err)
		}
		cq, err := dev.CreateCQ(256)
		if err != nil {
			log.Fatal(err)
		}
		return dev, manager, cm.Options{PD: pd, QP: verbs.QPOptions{Type: verbs.MP, SendCQ: cq}}
	}
	serverDev, server, serverOptions := open()
	defer serverDev.Close()
	defer server.Close()
	clientDev, client, clientOptions := open()
	defer clientDev.Close()
	defer client.Close()

	ctx := context.Background()
	listener, err := server.Listen(0) // a free port
	if err != nil {
		log.Fatal(err)
	}
	go func() {
		conn, err := listener.Accept(ctx, serverOptions)
		if err != nil {
			log.Fatal(err)
		}
		conn.Close()
	}()
	conn, err := client.Dial(ctx, listener.Addr().String(), clientOptions)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	fmt.Printf("%v over %d paths\n", conn.QP().Type(), conn.QP().Query().Attr.Paths)
	<-conn.Done()
	fmt.Println(conn.Err())
	// Output:
	// MP over 4 paths
	// cm: closed by the peer
}
