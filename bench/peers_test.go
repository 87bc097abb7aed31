package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestPeersMeasureSomething(t *testing.T) {
	peers := []struct {
		name   string
		metric metric
		run    measurement
	}{
		{"iperf3", goodput, measureIperf},
		{"quic", goodput, measureQUIC},
		{"udp", latency, measureUDP},
	}
	for _, peer := range peers {
		t.Run(peer.name, func(t *testing.T) {
			s, err := peer.run.lasting(200 * time.Millisecond)(t.Context())
			if errors.Is(err, errSkipped) {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			if !(peer.metric.value(s) > 0) || s.P99Micros < s.P50Micros {
				t.Errorf("measured %+v", s)
			}
		})
	}
}

func TestParsePerf(t *testing.T) {
	good := `{"schema":1,"op":"send","goodput_gbps":3,"msg_rate_mpps":2,"lat_us":{"p50":4,"p99":5}}`
	s, err := parsePerf([]byte(good), "send")
	if want := (sample{GoodputGbps: 3, RateMops: 2, P50Micros: 4, P99Micros: 5}); err != nil || s != want {
		t.Errorf("parsed %+v, %v; want %+v", s, err, want)
	}
	for name, bad := range map[string]string{
		"nothing":      "",
		"cut off":      good[:20],
		"two objects":  good + good,
		"no schema":    `{"op":"send"}`,
		"another test": `{"schema":1,"op":"write"}`,
	} {
		if _, err := parsePerf([]byte(bad), "send"); !errors.Is(err, errBadResult) {
			t.Errorf("%s: error %v, want %v", name, err, errBadResult)
		}
	}
}

func TestParseIperf(t *testing.T) {
	s, err := parseIperf([]byte(`{"end":{"sum_received":{"bits_per_second":3e10}}}`))
	if err != nil || s.GoodputGbps != 30 {
		t.Errorf("parsed %+v, %v", s, err)
	}
	if _, err := parseIperf([]byte(`{"error":"unable to connect"}`)); err == nil {
		t.Error("an error of iperf3 was taken for a result")
	}
}

func TestFailingBraidIsQuoted(t *testing.T) {
	binary := writeProgram(t, "#!/bin/sh\necho no free port >&2\nexit 3\n")
	_, err := braidCommand{binary: binary}.perf("write", "bw")(t.Context(), time.Second)
	if err == nil || !strings.Contains(err.Error(), "no free port") {
		t.Errorf("error %v does not quote the program", err)
	}
}

func TestHangingProgramIsGivenUp(t *testing.T) {
	binary := writeProgram(t, "#!/bin/sh\nsleep 600\n")
	// A negative time to measure leaves a tenth of a second of the grace.
	hanging := braidCommand{binary: binary}.perf("write", "bw").lasting(100*time.Millisecond - grace)
	if _, err := hanging(t.Context()); !errors.Is(err, errTooSlow) {
		t.Errorf("error %v, want %v", err, errTooSlow)
	}
}

// TestGrandchildrenEndToo starts a shell that starts a process, and cancels.
func TestGrandchildrenEndToo(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c, err := startChild(ctx, nil, shell, "-c", "sleep 600 & echo started $!; wait")
	if err != nil {
		t.Fatal(err)
	}
	defer c.kill()
	line, err := c.awaitLine("started ")
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimPrefix(line, "started "))
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := c.finish(); err == nil {
		t.Error("a killed child ended without an error")
	}
	for range 100 {
		// Nobody may have reaped it yet, so a process that is gone is waited for.
		if processGone(pid) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("process %d outlived its group", pid)
}

// processGone tells whether a process has ended, also when it is a zombie that
// nobody has collected.
func processGone(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(status), ") Z ")
}
