package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/braid-rdma/braid"
	"github.com/braid-rdma/braid/netconn"
)

const (
	// largeBytes is the length of the messages and bodies whose throughput is measured.
	largeBytes = 1 << 20

	// senders send at a time, as perf has several requests outstanding: a Send returns when the
	// peer has read the message.
	senders = 4
)

// receiveMessages takes large messages of braid's peers.
func receiveMessages(ctx context.Context, out io.Writer) error {
	return serveBraid(ctx, out, func(context.Context, *braid.Msg) ([]byte, error) { return nil, nil })
}

// sendMessages sends large messages over a channel and prints the rate at which the peer's
// application received them.
func sendMessages(ctx context.Context, address string, duration time.Duration, out io.Writer) error {
	return withChannels(ctx, address, 1, func(all []*braid.Channel) error {
		ch := all[0]
		for range 2 * senders { // warm up
			if err := ch.Send(ctx, make([]byte, largeBytes)); err != nil {
				return err
			}
		}
		return runTransfers(senders, duration, out, func() func() error {
			message := make([]byte, largeBytes)
			return func() error { return ch.Send(ctx, message) }
		}, func() error { return ch.Flush(ctx) })
	})
}

// sendSequence sends large messages one after the other, as one sequence of as many as the duration has room for.
func sendSequence(ctx context.Context, address string, duration time.Duration, out io.Writer) error {
	return withChannels(ctx, address, 1, func(all []*braid.Channel) error {
		ch, message := all[0], make([]byte, largeBytes)
		for range 2 * senders { // warm up
			if err := ch.Send(ctx, message); err != nil {
				return err
			}
		}
		begun := time.Now()
		sent, err := ch.SendAll(ctx, func(yield func([]byte) bool) {
			for time.Since(begun) < duration && yield(message) {
			}
		})
		if err == nil {
			err = ch.Flush(ctx)
		}
		if err != nil {
			return err
		}
		return json.NewEncoder(out).Encode(sample{GoodputGbps: float64(sent) * largeBytes * 8 / time.Since(begun).Seconds() / 1e9})
	})
}

// runTransfers moves largeBytes again and again, with a number of workers that each have a
// function of their own, and prints the goodput up to the end of flush.
func runTransfers(workers int, duration time.Duration, out io.Writer, worker func() func() error, flush func() error) error {
	var (
		all    sync.WaitGroup
		moved  atomic.Int64
		mu     sync.Mutex
		failed error
	)
	begun := time.Now()
	for range workers {
		transfer := worker()
		all.Go(func() {
			for time.Since(begun) < duration {
				if err := transfer(); err != nil {
					mu.Lock()
					failed = err
					mu.Unlock()
					return
				}
				moved.Add(largeBytes)
			}
		})
	}
	all.Wait()
	if failed == nil {
		failed = flush()
	}
	if failed != nil {
		return failed
	}
	return json.NewEncoder(out).Encode(sample{GoodputGbps: float64(moved.Load()) * 8 / time.Since(begun).Seconds() / 1e9})
}

// serveWeb serves bodies by net/http over any listener.
func serveWeb(l net.Listener, out io.Writer) error {
	if _, err := fmt.Fprintf(out, "%s%s\n", readyPrefix, l.Addr()); err != nil {
		return err
	}
	body := make([]byte, largeBytes)
	return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(body) }))
}

func serveWebTCP(_ context.Context, out io.Writer) error {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	return serveWeb(l, out)
}

func serveWebBraid(_ context.Context, out io.Writer) error {
	c, err := braid.Open(braid.Config{})
	if err != nil {
		return err
	}
	l, err := netconn.Listen(c, 0)
	if err != nil {
		return err
	}
	return serveWeb(l, out)
}

// getWeb gets bodies one after the other over one connection.
func getWeb(address string, duration time.Duration, out io.Writer, dial func(ctx context.Context, network, address string) (net.Conn, error)) error {
	transport := &http.Transport{DialContext: dial}
	defer transport.CloseIdleConnections()
	web := &http.Client{Transport: transport}
	into := make([]byte, largeBytes+1)
	get := func() error {
		r, err := web.Get("http://" + address)
		if err != nil {
			return err
		}
		defer r.Body.Close()
		// Up to its end: the connection of a body that was not read to its end is closed.
		if n, err := io.ReadFull(r.Body, into); n != largeBytes || !errors.Is(err, io.ErrUnexpectedEOF) {
			return fmt.Errorf("a body of %d bytes: %w", n, err)
		}
		return nil
	}
	for range 2 * senders { // warm up
		if err := get(); err != nil {
			return err
		}
	}
	return runTransfers(1, duration, out, func() func() error { return get }, func() error { return nil })
}

func getWebTCP(_ context.Context, address string, duration time.Duration, out io.Writer) error {
	return getWeb(address, duration, out, nil)
}

func getWebBraid(_ context.Context, address string, duration time.Duration, out io.Writer) error {
	c, err := braid.Open(braid.Config{})
	if err != nil {
		return err
	}
	defer c.Close()
	return getWeb(address, duration, out, netconn.Dialer{Context: c}.DialContext)
}
