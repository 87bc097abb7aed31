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

// playRole is the whole life of a process that has a role. It ends when the
// role is played, or when standard input closes because the parent is gone.
func playRole(role string, stdin io.Reader, stdout io.Writer) error {
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
	switch role {
	case "quic-server":
		return serveQUIC(ctx, stdout)
	case "quic-client":
		return sendQUIC(ctx, address, duration)
	case "udp-server":
		return serveUDP(stdout)
	case "udp-client":
		return pingUDP(address, duration, stdout)
	case roleSimulate:
		return playSimulation(stdout)
	case roleHeap:
		return json.NewEncoder(stdout).Encode(measureHeap(duration))
	}
	return fmt.Errorf("unknown role %q", role)
}

// playPair starts this program as a server and then as a client that is told
// the server's address, and returns both.
func playPair(ctx context.Context, peer string, duration time.Duration) (server, client *child, err error) {
	program, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	start := func(role, address string) (*child, error) {
		return startChild(ctx, []string{
			roleVariable + "=" + peer + "-" + role,
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

// parseRole reads the sample that a role printed as JSON.
func parseRole(output []byte) (sample, error) {
	var s sample
	if err := json.Unmarshal(output, &s); err != nil {
		return s, fmt.Errorf("the peer printed no valid result: %w", err)
	}
	return s, nil
}
