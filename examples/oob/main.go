// Command oob shows how two programs connect that cannot, or do not want to, use
// the connection manager (see example connect, which is the usual way): package
// oob exchanges what their queue pairs must know of each other over TCP, and the
// memory that the client may write. It needs no queue pair 1, which one owner on
// a device can have; it tells each side at once when the other's process dies;
// and all that server and client share is a TCP address, though each device has
// one of its own. They could as well be two processes.
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/braid-rdma/braid/oob"
	"github.com/braid-rdma/braid/udp"
	"github.com/braid-rdma/braid/verbs"
)

// open makes a device with a queue pair and memory that a peer may write.
func open() (*verbs.Device, *verbs.CQ, *verbs.QP, *verbs.MR) {
	dev, err := udp.Open(udp.Config{})
	if err != nil {
		log.Fatal("open a device: ", err)
	}
	pd, err := dev.CreatePD()
	if err != nil {
		log.Fatal("create a protection domain: ", err)
	}
	cq, err := dev.CreateCQ(16)
	if err != nil {
		log.Fatal("create a completion queue: ", err)
	}
	mr, err := pd.AllocMemory(4096, verbs.LocalWrite|verbs.RemoteWrite)
	if err != nil {
		log.Fatal("allocate memory: ", err)
	}
	qp, err := pd.CreateQP(verbs.QPOptions{Type: verbs.MP, SendCQ: cq})
	if err != nil {
		log.Fatal("create a queue pair: ", err)
	}
	return dev, cq, qp, mr
}

// serve offers its memory to one client and shows what is in it at the end.
func serve(ctx context.Context, listener *oob.Listener) {
	dev, _, qp, mr := open()
	defer dev.Close()
	conn, err := listener.Accept(ctx)
	if err != nil {
		log.Fatal("accept a client: ", err)
	}
	session, err := oob.Connect(ctx, conn, qp, oob.Options{Regions: []oob.Region{oob.RegionOf("notes", mr)}})
	if err != nil {
		log.Fatal("connect to the client: ", err)
	}
	// When the client says goodbye or dies, the queue pair goes to the error
	// state, and nobody writes the memory any more.
	<-session.Done()
	fmt.Printf("server: %v; my memory says %q\n", session.Err(), mr.Bytes()[:19])
}

// dial connects, and writes to the memory that the server named.
func dial(ctx context.Context, address string) {
	dev, cq, qp, _ := open()
	defer dev.Close()
	conn, err := oob.Dial(ctx, address)
	if err != nil {
		log.Fatal("dial: ", err)
	}
	session, err := oob.Connect(ctx, conn, qp, oob.Options{})
	if err != nil {
		log.Fatal("connect to the server: ", err)
	}
	defer session.Close()
	peer := session.Remote()
	notes, ok := peer.Region("notes")
	if !ok {
		log.Fatal("the server has no memory named notes")
	}
	fmt.Printf("client: connected to queue pair %v at %v, %d paths\n", peer.QPN, peer.Addr, qp.Query().Attr.Paths)
	if err := qp.PostSend(&verbs.SendWR{
		Op: verbs.OpWrite, Flags: verbs.Signaled, Inline: []byte("the client was here"),
		RemoteAddr: notes.Addr, RKey: notes.RKey,
	}); err != nil {
		log.Fatal("post a write: ", err)
	}
	var done [1]verbs.Completion
	if _, err := cq.Wait(ctx, done[:]); err != nil || done[0].Err() != nil {
		log.Fatal("write: ", err, done[0].Err())
	}
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	listener, err := oob.Listen("127.0.0.1:0")
	if err != nil {
		log.Fatal("listen: ", err)
	}
	defer listener.Close()
	go dial(ctx, listener.Addr().String())
	serve(ctx, listener)
}
