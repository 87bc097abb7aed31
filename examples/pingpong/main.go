// Command pingpong is a server and a client of messages, and how long a round takes.
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/braid-rdma/braid"
)

func main() {
	ctx := context.Background()
	server, client := must(braid.Open(braid.Config{})), must(braid.Open(braid.Config{}))
	defer server.Close()
	defer client.Close()

	listener := must(server.Listen(0))
	echo := func(_ context.Context, m *braid.Msg) ([]byte, error) { return m.Bytes(), nil }
	go func() { _ = listener.Serve(ctx, echo) }()

	channel := must(client.Dial(ctx, listener.Addr().String()))
	begin := time.Now()
	for range 1000 {
		must(channel.Call(ctx, []byte("ping"))).Release()
	}
	fmt.Println("1000 rounds,", time.Since(begin)/1000, "each")
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}
