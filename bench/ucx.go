package main

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// Iterations of one second, since ucx_perftest takes no time, and the pause between two attempts
// to connect.
const (
	ucxRoundTrips = 80_000
	ucxMebibytes  = 450
	ucxRetry      = 50 * time.Millisecond
)

// measureUCX runs a test of ucx_perftest between two processes over loopback TCP, with messages of
// a size. iterations are those of one second.
func measureUCX(test string, size, iterations int) measurement {
	return func(ctx context.Context, duration time.Duration) (sample, error) {
		program, err := exec.LookPath("ucx_perftest")
		if err != nil {
			return sample{}, fmt.Errorf("%w: ucx_perftest is not installed (Debian: apt-get install ucx-utils)", errSkipped)
		}
		port, err := freePort()
		if err != nil {
			return sample{}, err
		}
		variables := []string{"UCX_TLS=tcp,self", "UCX_NET_DEVICES=lo", "UCX_LOG_LEVEL=error"}
		server, err := startChild(ctx, variables, program, "-p", port)
		if err != nil {
			return sample{}, err
		}
		defer server.kill()
		output, err := runUCXClient(ctx, variables, program, "127.0.0.1", "-p", port, "-f", "-v", "-t", test,
			"-s", strconv.Itoa(size), "-w", "100", "-n", strconv.Itoa(max(1, int(duration.Seconds()*float64(iterations)))))
		if err != nil {
			return sample{}, err
		}
		return parseUCX(string(output))
	}
}

// runUCXClient tries until the server listens: what a server says of it stays in its buffer.
func runUCXClient(ctx context.Context, variables []string, program string, args ...string) ([]byte, error) {
	for {
		client, err := startChild(ctx, variables, program, args...)
		if err != nil {
			return nil, err
		}
		output, err := client.finish()
		client.kill()
		if err == nil || !strings.Contains(string(output), "Connection refused") {
			return output, err
		}
		select {
		case <-time.After(ucxRetry):
		case <-ctx.Done():
			return nil, err
		}
	}
}

// parseUCX reads the table of comma-separated values that `ucx_perftest -v` prints: the latencies are
// half round trips in microseconds, the bandwidths in MiB/s.
func parseUCX(output string) (sample, error) {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	heads, values := strings.Split(lines[0], ","), strings.Split(lines[len(lines)-1], ",")
	column := func(name string) (float64, error) {
		for i, head := range heads {
			if head == name && i < len(values) {
				return strconv.ParseFloat(values[i], 64)
			}
		}
		return 0, fmt.Errorf("ucx_perftest printed no %s", name)
	}
	half, err := column("50.0_percentile_lat")
	if err != nil {
		return sample{}, err
	}
	mebibytes, err := column("overall_bw")
	if err != nil {
		return sample{}, err
	}
	return sample{P50Micros: 2 * half, GoodputGbps: mebibytes * (1 << 20) * 8 / 1e9}, nil
}
