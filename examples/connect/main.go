// Command connect shows how programs connect as RDMA programs do: the server
// listens on a port of its device, the client dials it, and the connection
// manager does the rest. A peer that is not braid could take either part: it
// would get an RC queue pair instead of one with several paths.
package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/braid-rdma/braid/cm"
	"github.com/braid-rdma/braid/udp"
	"github.com/braid-rdma/braid/verbs"
)

// end is a device with its manager, memory that a peer may write, and what it
// asks of its connections.
type end struct {
	dev     *verbs.Device
	manager *cm.Manager
	cq      *verbs.CQ
	mr      *verbs.MR
	options cm.Options
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
	cq, err := dev.CreateCQ(64)
	if err != nil {
		log.Fatal("create a completion queue: ", err)
	}
	mr, err := pd.AllocMemory(4096, verbs.LocalWrite|verbs.RemoteWrite)
	if err != nil {
		log.Fatal("allocate memory: ", err)
	}
	return end{dev, manager, cq, mr, cm.Options{PD: pd, QP: verbs.QPOptions{Type: verbs.MP, SendCQ: cq}}}
}

func (e *end) close() {
	e.manager.Close()
	e.dev.Close()
}

// serve refuses who does not know the word, and offers its memory to who does:
// its address and key are the private data of the answer.
func serve(ctx context.Context, server *end, listener *cm.Listener) {
	options := server.options
	options.PrivateData = binary.BigEndian.AppendUint64(nil, server.mr.Addr())
	options.PrivateData = binary.BigEndian.AppendUint32(options.PrivateData, uint32(server.mr.RKey()))
	for {
		request, err := listener.Next(ctx)
		if err != nil {
			log.Fatal("wait for a client: ", err)
		}
		if string(request.PrivateData()) != "friend" {
			if err := request.Reject([]byte("say the word")); err != nil {
				log.Fatal("refuse: ", err)
			}
			continue
		}
		conn, err := request.Accept(ctx, options)
		if err != nil {
			log.Fatal("accept a client: ", err)
		}
		<-conn.Done()
		fmt.Printf("server: %v; my memory says %q\n", conn.Err(), server.mr.Bytes()[:19])
		conn.Close()
		return
	}
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	server, client := open(), open()
	defer server.close()
	defer client.close()
	listener, err := server.manager.Listen(0)
	if err != nil {
		log.Fatal("listen: ", err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		serve(ctx, &server, listener)
	}()

	_, err = client.manager.Dial(ctx, listener.Addr().String(), client.options)
	var refused *cm.RejectError
	if !errors.As(err, &refused) {
		log.Fatal("a stranger was not refused: ", err)
	}
	fmt.Printf("client: %v; it says %q\n", refused.Reason, refused.PrivateData)

	options := client.options
	options.PrivateData = []byte("friend")
	conn, err := client.manager.Dial(ctx, listener.Addr().String(), options)
	if err != nil {
		log.Fatal("dial: ", err)
	}
	fmt.Printf("client: connected, %v over %d paths\n", conn.QP().Type(), conn.QP().Query().Attr.Paths)
	offer := conn.PrivateData()
	if err := conn.QP().PostSend(&verbs.SendWR{
		Op: verbs.OpWrite, Flags: verbs.Signaled, Inline: []byte("the client was here"),
		RemoteAddr: binary.BigEndian.Uint64(offer), RKey: verbs.RKey(binary.BigEndian.Uint32(offer[8:])),
	}); err != nil {
		log.Fatal("post a write: ", err)
	}
	var done [1]verbs.Completion
	if _, err := client.cq.Wait(ctx, done[:]); err != nil || done[0].Err() != nil {
		log.Fatal("write: ", err, done[0].Err())
	}
	conn.Close()
	<-served
}
