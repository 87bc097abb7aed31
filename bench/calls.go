package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/braid-rdma/braid"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

const (
	callBytes = 64

	// hugeBytes is the length of the messages beside calls.
	hugeBytes = 1 << 30

	// manyCalls is how many are in flight where their rate is measured.
	manyCalls = 64

	// callWarmup calls of each caller are not counted.
	callWarmup = 200

	echoMethod = "/bench.Echo/Call"
)

// A caller makes one call, whose response is as long as its request.
type caller func(ctx context.Context) error

// runCalls makes calls, a number of them at a time, and prints how long each took and how many
// there were.
func runCalls(ctx context.Context, call caller, inFlight int, duration time.Duration, out io.Writer) error {
	var (
		callers sync.WaitGroup
		mu      sync.Mutex
		trips   []time.Duration
		failed  error
	)
	ready, start := sync.WaitGroup{}, make(chan struct{})
	ready.Add(inFlight)
	for range inFlight {
		callers.Go(func() {
			_, err := timeCalls(ctx, call, callWarmup, time.Minute)
			ready.Done()
			<-start
			var mine []time.Duration
			if err == nil {
				mine, err = timeCalls(ctx, call, maxPings, duration)
			}
			mu.Lock()
			defer mu.Unlock()
			trips = append(trips, mine...)
			if failed == nil {
				failed = err
			}
		})
	}
	ready.Wait()
	begun := time.Now()
	close(start)
	callers.Wait()
	elapsed := time.Since(begun)
	if failed != nil {
		return failed
	}
	slices.Sort(trips)
	return json.NewEncoder(out).Encode(sample{
		P50Micros: 2 * halfMicros(trips, 0.50),
		P99Micros: 2 * halfMicros(trips, 0.99),
		RateMops:  float64(len(trips)) / elapsed.Seconds() / 1e6,
	})
}

// timeCalls is one caller, until the time is over or the count is reached.
func timeCalls(ctx context.Context, call caller, count int, duration time.Duration) (trips []time.Duration, err error) {
	start := time.Now()
	for end := start.Add(duration); len(trips) < count && start.Before(end); {
		if err := call(ctx); err != nil {
			return nil, err
		}
		now := time.Now()
		trips = append(trips, now.Sub(start))
		start = now
	}
	return trips, nil
}

// serveCalls returns the requests of braid's peers to them, and takes what is longer.
func serveCalls(ctx context.Context, out io.Writer) error {
	return serveBraid(ctx, out, func(_ context.Context, m *braid.Msg) ([]byte, error) {
		if m.Len() > callBytes {
			return nil, nil
		}
		return m.Bytes(), nil
	})
}

// serveBraid has a handler take what comes over channels.
func serveBraid(ctx context.Context, out io.Writer, handler braid.Handler) error {
	return serveContext(ctx, out, braid.Config{}, handler)
}

func serveContext(ctx context.Context, out io.Writer, cfg braid.Config, handler braid.Handler) error {
	c, err := braid.Open(cfg)
	if err != nil {
		return err
	}
	defer c.Close()
	l, err := c.Listen(0)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(out, "%s%s\n", readyPrefix, l.Addr()); err != nil {
		return err
	}
	return l.Serve(ctx, handler)
}

// callBraid makes calls over a channel.
func callBraid(ctx context.Context, address string, inFlight int, duration time.Duration, out io.Writer) error {
	return withChannels(ctx, address, 1, func(all []*braid.Channel) error {
		return runCalls(ctx, callOver(all[0]), inFlight, duration, out)
	})
}

// callBeside makes calls one after the other while messages of 1 GiB travel on a channel: the
// same one, or another of the context.
func callBeside(channels int) role {
	return func(ctx context.Context, address string, duration time.Duration, out io.Writer) error {
		return withChannels(ctx, address, channels, func(all []*braid.Channel) error {
			bulk := all[channels-1]
			go func() {
				huge := make([]byte, hugeBytes)
				for bulk.Send(ctx, huge) == nil {
				}
			}()
			for bulk.Stats().Sent == 0 { // the first of them
				time.Sleep(time.Millisecond)
			}
			err := runCalls(ctx, callOver(all[0]), 1, duration, out)
			return errors.Join(err, bulk.Err()) // it has been sending all the time
		})
	}
}

// withChannels opens a context with a number of channels to a server.
func withChannels(ctx context.Context, address string, count int, use func([]*braid.Channel) error) error {
	c, err := braid.Open(braid.Config{Linger: -1})
	if err != nil {
		return err
	}
	defer c.Close()
	all := make([]*braid.Channel, count)
	for i := range all {
		if all[i], err = c.Dial(ctx, address); err != nil {
			return err
		}
	}
	return use(all)
}

func callOver(ch *braid.Channel) caller {
	request := make([]byte, callBytes)
	return func(ctx context.Context) error {
		m, err := ch.Call(ctx, request)
		if err == nil {
			err = sameLength(m.Len())
			m.Release()
		}
		return err
	}
}

// echoService is the least that gRPC needs: bytes there and back, without generated code.
var echoService = grpc.ServiceDesc{
	ServiceName: "bench.Echo",
	HandlerType: (*any)(nil),
	Methods: []grpc.MethodDesc{{
		MethodName: "Call",
		Handler: func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			var request wrapperspb.BytesValue
			if err := decode(&request); err != nil {
				return nil, err
			}
			return &request, nil
		},
	}},
}

// serveGRPC is gRPC-Go as it comes, over loopback TCP.
func serveGRPC(ctx context.Context, out io.Writer) error {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(out, "%s%s\n", readyPrefix, l.Addr()); err != nil {
		return err
	}
	server := grpc.NewServer()
	server.RegisterService(&echoService, nil)
	context.AfterFunc(ctx, server.Stop)
	return server.Serve(l)
}

func callGRPC(ctx context.Context, address string, inFlight int, duration time.Duration, out io.Writer) error {
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	request := wrapperspb.Bytes(make([]byte, callBytes))
	return runCalls(ctx, func(ctx context.Context) error {
		var response wrapperspb.BytesValue
		if err := conn.Invoke(ctx, echoMethod, request, &response); err != nil {
			return err
		}
		return sameLength(len(response.Value))
	}, inFlight, duration, out)
}

func sameLength(n int) error {
	if n != callBytes {
		return fmt.Errorf("a response of %d bytes to %d", n, callBytes)
	}
	return nil
}
