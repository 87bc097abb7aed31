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
		{"one call", roundTrip, betweenTwo("call")},
		{"calls", rate, betweenTwo("calls")},
		{"one call of gRPC", roundTrip, betweenTwo("grpc")},
		{"calls of gRPC", rate, betweenTwo("grpcs")},
		{"messages", goodput, betweenTwo("messages")},
		{"net/http over TCP", goodput, betweenTwo("web")},
		{"net/http over braid", goodput, betweenTwo("web-braid")},
		{"TCP at a rate", processor, measurePaced("tcp", 1)},
		{"MPTCP at a rate", processor, measurePaced("mptcp", 1)},
		{"quic at a rate", processor, measurePaced("quic", 1)},
		{"MP at a rate", processor, measurePaced("mp", 1)},
		{"RC at a rate", processor, measurePaced("rc", 1)},
		{"a connection alone", roundTrip, betweenTwo("alone")},
		{"a connection's memory", crowdMemory, betweenTwo("alone")},
		{"ucx", goodput, measureUCX("tag_bw", largeBytes, ucxMebibytes)},
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
			if !(peer.metric.value(s) > 0) || s.P99Micros > 0 && s.P99Micros < s.P50Micros {
				t.Errorf("measured %+v", s)
			}
		})
	}
}

func TestPacedSample(t *testing.T) {
	sent, received := usage{Bytes: 1e9, Seconds: 8, ProcessorSeconds: 1}, usage{Bytes: 1e9 + pacedChunk, Seconds: 8, ProcessorSeconds: 0.5}
	if s, err := pacedSample(sent, received, 1); err != nil || s.ProcessorSeconds != 1.5 || s.GoodputGbps != 1 || s.Late {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err := pacedSample(sent, received, 4); err != nil || !s.Late {
		t.Errorf("a quarter of the rate: %+v, %v", s, err)
	}
	received.Bytes = 1e9 - 1
	if s, err := pacedSample(sent, received, 1); err == nil {
		t.Errorf("a byte is missing: %+v", s)
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

func TestParseUCX(t *testing.T) {
	const heads = "iterations,50.0_percentile_lat,avg_lat,overall_lat,avg_bw,overall_bw,avg_mr,overall_mr\n"
	s, err := parseUCX(heads + "1000,5.5,6,7,400,125,554,175\n")
	if want := (sample{P50Micros: 11, GoodputGbps: 1.048576}); err != nil || s != want {
		t.Errorf("parsed %+v, %v; want %+v", s, err, want)
	}
	for _, bad := range []string{"", heads, "1000,5.5\n", heads + "1000,x,6,7,400,125,554,175\n"} {
		if _, err := parseUCX(bad); err == nil {
			t.Errorf("%q is a result", bad)
		}
	}
}

func TestClaimsStandBesideRatios(t *testing.T) {
	ratio := 1.5
	r := report{Rows: []row{
		{Part: partMiddleware, Name: "call", Ratio: &ratio, Claim: &claim{What: "ping-pong", Ratio: 1.2, Differs: "no NIC"}},
		{Part: partMiddleware, Name: "other"},
		{Part: partMiddleware, Name: "failed", Claim: &claim{What: "cache", Ratio: 0.62}},
	}}
	var out strings.Builder
	if err := r.writeParts(&out, writeMarkdown); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| ping-pong | 1.20 | 1.50 | 1.25 | no NIC |", "| cache | 0.62 | not measured |  |  |"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no line %q in\n%s", want, out.String())
		}
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
