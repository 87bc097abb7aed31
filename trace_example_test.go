package braid_test

import (
	"context"
	"fmt"
	"log"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/braid-rdma/braid"
)

// A call that is traced tells where its time went, at both ends and between them.
func ExampleChannel_TraceCall() {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	server, err := braid.Open(braid.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	l, err := server.Listen(0)
	if err != nil {
		log.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		l.Serve(ctx, func(_ context.Context, m *braid.Msg) ([]byte, error) {
			time.Sleep(10 * time.Millisecond)
			return m.Bytes(), nil
		})
	})
	defer serving.Wait()
	defer stop()

	client, err := braid.Open(braid.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	ch, err := client.Dial(ctx, l.Addr().String())
	if err != nil {
		log.Fatal(err)
	}
	reply, trace, err := ch.TraceCall(ctx, []byte("hello"))
	if err != nil {
		log.Fatal(err)
	}
	reply.Release()
	for _, s := range trace.Segments {
		fmt.Println(s.Phase)
	}
	fmt.Println("most of it in the handler:", trace.Took(braid.PhaseHandler) >= 10*time.Millisecond)
	// Output:
	// prepare
	// inbox
	// window
	// wire
	// wait
	// handler
	// reply
	// wire back
	// deliver
	// most of it in the handler: true
}

// What is slow at the caller is told with the line of the program that called.
func TestSlowCallIsNamed(t *testing.T) {
	server, err := braid.Open(braid.Config{Window: 4})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	l, err := server.Listen(0)
	if err != nil {
		t.Fatal(err)
	}
	client, err := braid.Open(braid.Config{SlowThreshold: time.Millisecond, Linger: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ch, err := client.Dial(t.Context(), l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for range 4 { // nobody reads: the window is full
		if err := ch.Send(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, _, err := ch.TraceCall(ctx, nil); err == nil {
		t.Fatal("the call has a response")
	}
	for _, s := range client.SlowEvents() {
		t.Log(s)
		if s.Phase == braid.PhaseWindow && strings.Contains(s.Place, "TestSlowCallIsNamed") && strings.Contains(s.Place, "trace_example_test.go:") {
			return
		}
	}
	t.Errorf("the wait for the window is not told: %v", client.SlowEvents())
}
