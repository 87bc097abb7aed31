// Command rpc calls methods of a server: several at a time over one channel, large
// arguments and results, failures, and a deadline that the handler learns of.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"log"
	"sync"
	"time"

	"github.com/braid-rdma/braid"
)

// A request is the number of a method and its argument.
const (
	sum   = 's' // of the bytes of the argument, as SHA-256
	zeros = 'z' // as many as the argument says
	sleep = 't' // until the caller gives up
)

func handle(ctx context.Context, m *braid.Msg) ([]byte, error) {
	if m.Len() == 0 {
		return nil, errors.New("no method")
	}
	switch method, argument := m.Bytes()[0], m.Bytes()[1:]; method {
	case sum:
		digest := sha256.Sum256(argument)
		return digest[:], nil
	case zeros:
		return make([]byte, binary.BigEndian.Uint32(argument)), nil
	case sleep:
		<-ctx.Done()
		fmt.Println("server: the caller has given up")
		return nil, ctx.Err()
	default:
		return nil, fmt.Errorf("no method %q", method)
	}
}

func main() {
	ctx := context.Background()
	server, client := open(), open()
	defer server.Close()
	defer client.Close()
	listener, err := server.Listen(0)
	check(err)
	go func() { _ = listener.Serve(ctx, handle) }()
	channel, err := client.Dial(ctx, listener.Addr().String())
	check(err)

	// Large arguments are read by the server from where they are.
	document := bytes.Repeat([]byte("braid "), 1<<20)
	digest, err := channel.Call(ctx, append([]byte{sum}, document...))
	check(err)
	fmt.Printf("the sum of %d bytes: %x...\n", len(document), digest.Bytes()[:8])
	digest.Release()

	// Calls of several goroutines share the channel.
	var calls sync.WaitGroup
	for range 8 {
		calls.Go(func() {
			result, err := channel.Call(ctx, binary.BigEndian.AppendUint32([]byte{zeros}, 1<<20))
			check(err)
			result.Release()
		})
	}
	calls.Wait()
	fmt.Println("8 results of 1 MiB")

	_, err = channel.Call(ctx, []byte("?"))
	var failure *braid.CallError
	fmt.Println("a failure of the handler:", errors.As(err, &failure), failure.Reason)

	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	_, err = channel.Call(short, []byte{sleep})
	fmt.Println("a deadline:", err)
	check(channel.Close())
}

func open() *braid.Context {
	c, err := braid.Open(braid.Config{})
	check(err)
	return c
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
