package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os/exec"
	"time"
)

// measureIperf measures one TCP stream of iperf3 over loopback, with a server
// of its own on a free port. What counts is what the receiver got.
func measureIperf(ctx context.Context, duration time.Duration) (sample, error) {
	program, err := exec.LookPath("iperf3")
	if err != nil {
		return sample{}, fmt.Errorf("%w: iperf3 is not installed (Debian: apt-get install iperf3)", errSkipped)
	}
	port, err := freePort()
	if err != nil {
		return sample{}, err
	}
	server, err := startChild(ctx, nil, program, "--server", "--one-off", "--forceflush",
		"--bind", "127.0.0.1", "--port", port)
	if err != nil {
		return sample{}, err
	}
	defer server.kill()
	if _, err := server.awaitLine("Server listening"); err != nil {
		return sample{}, err
	}
	output, err := runProgram(ctx, program, "--client", "127.0.0.1", "--port", port,
		"--time", wholeSeconds(duration), "--json")
	if err != nil {
		return sample{}, err
	}
	return parseIperf(output)
}

// parseIperf reads the object that `iperf3 --json` prints.
func parseIperf(output []byte) (sample, error) {
	var result struct {
		Error string `json:"error"`
		End   struct {
			Received struct {
				BitsPerSecond float64 `json:"bits_per_second"`
			} `json:"sum_received"`
		} `json:"end"`
	}
	if err := json.Unmarshal(output, &result); err != nil {
		return sample{}, fmt.Errorf("iperf3 printed no valid JSON: %w", err)
	}
	if result.Error != "" {
		return sample{}, fmt.Errorf("iperf3: %s", result.Error)
	}
	return sample{GoodputGbps: result.End.Received.BitsPerSecond / 1e9}, nil
}

// freePort asks the kernel for a TCP port that nobody listens on. Somebody else
// may take it before iperf3 does; the round then fails and is counted as such.
func freePort() (string, error) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer listener.Close()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	return port, err
}
