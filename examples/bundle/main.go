// Command bundle shows one connection over four ordinary RC queue pairs, each on a path
// of its own: a WRITE of 8 MiB is cut into chunks that take all of them, and a message
// is received without being copied.
package main

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"time"

	"github.com/braid-rdma/braid/bundle"
	"github.com/braid-rdma/braid/cm"
	"github.com/braid-rdma/braid/udp"
	"github.com/braid-rdma/braid/verbs"
)

const size = 8 << 20

// end is a device with its manager, and memory that a peer may write.
type end struct {
	dev     *verbs.Device
	manager *cm.Manager
	pd      *verbs.PD
	mr      *verbs.MR
}

func open() end {
	dev, err := udp.Open(udp.Config{})
	if err != nil {
		log.Fatal("open a device: ", err)
	}
	manager, err := cm.New(dev, cm.Config{})
	if err != nil {
		log.Fatal("start the connection manager: ", err)
	}
	pd, err := dev.CreatePD()
	if err != nil {
		log.Fatal("create a protection domain: ", err)
	}
	mr, err := pd.AllocMemory(size, verbs.LocalWrite|verbs.RemoteWrite)
	if err != nil {
		log.Fatal("allocate memory: ", err)
	}
	return end{dev, manager, pd, mr}
}

func (e *end) close() {
	e.manager.Close()
	e.dev.Close()
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	server, client := open(), open()
	defer server.close()
	defer client.close()
	listener, err := bundle.Listen(server.manager, 0, bundle.Config{PD: server.pd})
	if err != nil {
		log.Fatal("listen: ", err)
	}
	c, err := bundle.Dial(ctx, client.manager, listener.Addr().String(), bundle.Config{PD: client.pd, QueuePairs: 4})
	if err != nil {
		log.Fatal("dial: ", err)
	}
	defer c.Close()
	s, err := listener.Accept(ctx)
	if err != nil {
		log.Fatal("accept: ", err)
	}
	defer s.Close()
	listener.Close()

	copy(client.mr.Bytes(), bytes.Repeat([]byte("many paths "), size/11))
	all := bundle.Buffer{MR: client.mr, Length: size}
	if err := c.Write(ctx, all, bundle.Remote{Addr: server.mr.Addr(), RKey: server.mr.RKey()}); err != nil {
		log.Fatal("write: ", err)
	}
	fmt.Printf("wrote %d bytes over %d queue pairs\n", size, c.Stats().Up)

	if err := s.Post(bundle.Request{ID: 1, Op: bundle.OpReceive, Local: bundle.Buffer{MR: server.mr, Length: size}}); err != nil {
		log.Fatal("post a receive: ", err)
	}
	if err := c.Send(ctx, all); err != nil {
		log.Fatal("send: ", err)
	}
	var done [1]bundle.Completion
	if _, err := s.Wait(ctx, done[:]); err != nil || done[0].Err != nil {
		log.Fatal("receive: ", err, done[0].Err)
	}
	fmt.Printf("received %d bytes, beginning with %q\n", done[0].Bytes, server.mr.Bytes()[:10])
}
