package braid_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"time"

	"github.com/braid-rdma/braid"
)

// connected returns a channel to a server of this process whose context it lets prepare a handler.
func connected(ctx context.Context, handler func(*braid.Context) braid.Handler) (ch *braid.Channel, end func()) {
	server, err := braid.Open(braid.Config{})
	if err != nil {
		log.Fatal(err)
	}
	l, err := server.Listen(0)
	if err != nil {
		log.Fatal(err)
	}
	h, served := handler(server), make(chan struct{})
	go func() {
		defer close(served)
		_ = l.Serve(ctx, h) // until the server is closed
	}()
	client, err := braid.Open(braid.Config{})
	if err != nil {
		log.Fatal(err)
	}
	if ch, err = client.Dial(ctx, l.Addr().String()); err != nil {
		log.Fatal(err)
	}
	return ch, func() {
		client.Close()
		server.Close()
		<-served
	}
}

func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	server, err := braid.Open(braid.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	l, err := server.Listen(0) // a free port
	if err != nil {
		log.Fatal(err)
	}

	client, err := braid.Open(braid.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	there, err := client.Dial(ctx, l.Addr().String())
	if err != nil {
		log.Fatal(err)
	}
	here, err := l.Accept(ctx)
	if err != nil {
		log.Fatal(err)
	}
	if err := there.Send(ctx, []byte("hello")); err != nil {
		log.Fatal(err)
	}
	m, err := here.Receive(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", m.Bytes())
	m.Release()
	// Output: hello
}

// A call has a response, or fails with what the handler returned.
func ExampleChannel_Call() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	ch, end := connected(ctx, func(*braid.Context) braid.Handler {
		return func(_ context.Context, m *braid.Msg) ([]byte, error) {
			if m.Len() == 0 {
				return nil, errors.New("whom shall I greet?")
			}
			return fmt.Appendf(nil, "hello, %s", m.Bytes()), nil
		}
	})
	defer end()
	reply, err := ch.Call(ctx, []byte("gopher"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", reply.Bytes())
	reply.Release()

	_, err = ch.Call(ctx, nil)
	var failed *braid.CallError
	if errors.As(err, &failed) {
		fmt.Println("the handler failed:", failed.Reason)
	}
	// Output:
	// hello, gopher
	// the handler failed: whom shall I greet?
}

// A server offers memory, which a client then reads without the server's help.
func ExampleChannel_At() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	ch, end := connected(ctx, func(server *braid.Context) braid.Handler {
		shelf, err := server.Alloc(1<<20, braid.CanRead|braid.CanWrite)
		if err != nil {
			log.Fatal(err)
		}
		if err := shelf.Store(1000, []byte("a book")); err != nil {
			log.Fatal(err)
		}
		return func(context.Context, *braid.Msg) ([]byte, error) { return shelf.Remote().MarshalBinary() }
	})
	defer end()
	reply, err := ch.Call(ctx, []byte("where is it?"))
	if err != nil {
		log.Fatal(err)
	}
	var shelf braid.Remote
	if err := shelf.UnmarshalBinary(reply.Bytes()); err != nil {
		log.Fatal(err)
	}
	reply.Release()

	f := ch.At(ctx, shelf) // an io.ReaderAt and io.WriterAt
	if _, err := f.WriteAt([]byte("t"), 1005); err != nil {
		log.Fatal(err)
	}
	text, err := io.ReadAll(io.NewSectionReader(f, 1002, 4))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", text)
	// Output: boot
}

// Parameters that can change while a context is open are changed by name; a bad value changes nothing.
func ExampleContext_Set() {
	c, err := braid.Open(braid.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	if err := c.Set("keepalive", "3s"); err != nil {
		log.Fatal(err)
	}
	fmt.Println(c.Config().Keepalive)
	if err := c.Set("window", "128"); err != nil {
		fmt.Println("refused")
	}
	// Output:
	// 3s
	// refused
}
