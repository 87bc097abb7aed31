package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// The peers that are written in Go are this same program, started again with a
// role in its environment: two processes, as with the other contestants.
const (
	roleVariable     = "BRAID_BENCH_ROLE"
	addressVariable  = "BRAID_BENCH_ADDRESS"
	durationVariable = "BRAID_BENCH_DURATION"
)

// readyPrefix starts the line by which a server tells its address.
const readyPrefix = "ready "

// roleLimit ends a role that nobody ended, far beyond any measurement.
const roleLimit = 3 * time.Minute

// A role is given a server's address where it is a client, and prints a sample.
type role func(ctx context.Context, address string, duration time.Duration, out io.Writer) error

// server is the role of one who prints its address and serves.
func server(serve func(ctx context.Context, out io.Writer) error) role {
	return func(ctx context.Context, _ string, _ time.Duration, out io.Writer) error { return serve(ctx, out) }
}

// calling is the role of a client with a number of calls in flight.
func calling(call func(ctx context.Context, address string, inFlight int, duration time.Duration, out io.Writer) error, inFlight int) role {
	return func(ctx context.Context, address string, duration time.Duration, out io.Writer) error {
		return call(ctx, address, inFlight, duration, out)
	}
}

var roles = map[string]role{
	"quic-server": server(serveQUIC),
	"quic-client": func(ctx context.Context, address string, duration time.Duration, _ io.Writer) error {
		return sendQUIC(ctx, address, duration)
	},
	"udp-server": server(func(_ context.Context, out io.Writer) error { return serveUDP(out) }),
	"udp-client": func(_ context.Context, address string, duration time.Duration, out io.Writer) error {
		return pingUDP(address, duration, out)
	},
	"call-server":      server(serveCalls),
	"call-client":      calling(callBraid, 1),
	"calls-server":     server(serveCalls),
	"calls-client":     calling(callBraid, manyCalls),
	"beside-server":    server(serveCalls),
	"beside-client":    callBeside(1),
	"besides-server":   server(serveCalls),
	"besides-client":   callBeside(2),
	"dial-server":      grantDials(-1),
	"dial-client":      dialing(-1),
	"redial-server":    grantDials(0),
	"redial-client":    dialing(0),
	"alone-server":     server(serveCrowd),
	"alone-client":     crowding(1),
	"crowd-server":     server(serveCrowd),
	"crowd-client":     crowding(crowded),
	"loop-server":      server(serveLoops(1)),
	"loop-client":      looping(1),
	"loops-server":     server(serveLoops(2)),
	"loops-client":     looping(2),
	"grpc-server":      server(serveGRPC),
	"grpc-client":      calling(callGRPC, 1),
	"grpcs-server":     server(serveGRPC),
	"grpcs-client":     calling(callGRPC, manyCalls),
	"messages-server":  server(receiveMessages),
	"messages-client":  sendMessages,
	"sequence-server":  server(receiveMessages),
	"sequence-client":  sendSequence,
	"web-server":       server(serveWebTCP),
	"web-client":       getWebTCP,
	"web-braid-server": server(serveWebBraid),
	"web-braid-client": getWebBraid,
	roleLoop:           func(ctx context.Context, _ string, _ time.Duration, _ io.Writer) error { computeUntil(ctx); return nil },
	roleSimulate:       func(_ context.Context, _ string, _ time.Duration, out io.Writer) error { return playSimulation(out) },
	roleHeap: func(_ context.Context, _ string, duration time.Duration, out io.Writer) error {
		return json.NewEncoder(out).Encode(measureHeap(duration))
	},
}

// playRole is the whole life of a process that has a role. It ends when the
// role is played, or when standard input closes because the parent is gone.
func playRole(name string, stdin io.Reader, stdout io.Writer) error {
	ctx, cancel := context.WithTimeout(context.Background(), roleLimit)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, stdin)
		// A role may sit in a blocking system call, which no context ends.
		os.Exit(1)
	}()
	address := os.Getenv(addressVariable)
	duration, err := time.ParseDuration(os.Getenv(durationVariable))
	if err != nil {
		return fmt.Errorf("%s: %w", durationVariable, err)
	}
	addPaced(roles)
	if play := roles[name]; play != nil {
		return play(ctx, address, duration, stdout)
	}
	return fmt.Errorf("unknown role %q", name)
}

// playPair starts this program as a server and then as a client that is told
// the server's address, and returns both.
func playPair(ctx context.Context, peer string, duration time.Duration) (server, client *child, err error) {
	program, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	start := func(side, address string) (*child, error) {
		return startChild(ctx, []string{
			roleVariable + "=" + peer + "-" + side,
			addressVariable + "=" + address,
			durationVariable + "=" + duration.String(),
			// The advice of quic-go about buffer sizes is not a failure.
			"QUIC_GO_DISABLE_RECEIVE_BUFFER_WARNING=true",
		}, program)
	}
	server, err = start("server", "")
	if err != nil {
		return nil, nil, err
	}
	line, err := server.awaitLine(readyPrefix)
	if err == nil {
		client, err = start("client", strings.TrimPrefix(line, readyPrefix))
	}
	if err != nil {
		server.kill()
		return nil, nil, err
	}
	return server, client, nil
}

// betweenTwo measures by the sample that the client of a pair of roles prints.
func betweenTwo(peer string) measurement {
	return func(ctx context.Context, duration time.Duration) (sample, error) {
		server, client, err := playPair(ctx, peer, duration)
		if err != nil {
			return sample{}, err
		}
		defer server.kill()
		defer client.kill()
		output, err := client.finish()
		if err != nil {
			return sample{}, err
		}
		return parseRole(output)
	}
}

// parseRole reads the sample that a role printed as JSON.
func parseRole(output []byte) (sample, error) {
	var s sample
	if err := json.Unmarshal(output, &s); err != nil {
		return s, fmt.Errorf("the peer printed no valid result: %w", err)
	}
	return s, nil
}
