package command

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/braid-rdma/braid/internal/perf"
)

func bandwidthResult(size int) *perf.Result {
	return &perf.Result{
		Op: perf.Write, Metric: perf.Bandwidth, Bytes: size, Iterations: 5000,
		PeakMiBps: 3456.789, AverageMiBps: 3210.5, MessageRateMpps: 0.051368,
		QP: "mp", Policy: "ack-clock", CC: "mp-rdma", QPs: 1, TxDepth: 128, MTU: 4096,
		Paths: make([]perf.PathResult, 4),
	}
}

func TestBandwidthTable(t *testing.T) {
	var out bytes.Buffer
	table := newPerfTable(&out, false)
	for _, size := range []int{65536, 131072} {
		if err := table.add(bandwidthResult(size)); err != nil {
			t.Fatal(err)
		}
	}
	for i, late := range []uint64{0, 2} {
		table.results[i].Spurious = &late
	}
	table.results[1].Retransmits = 7
	verified := true
	table.results[1].Verified = &verified
	if err := table.finish(); err != nil {
		t.Fatal(err)
	}
	const want = `-----------------------------------------------------------------------------------
 RDMA WRITE bandwidth: MP, 1 queue pair(s), MTU 4096, TX depth 128, 4 paths, policy ack-clock, congestion control mp-rdma
-----------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[MiB/sec]    BW average[MiB/sec]    MsgRate[Mpps]
 65536      5000           3456.79             3210.50                0.051368
 131072     5000           3456.79             3210.50                0.051368
 retransmitted packets: 7 (2 were not lost, only late)
 verified: the data of both sides is the same
`
	if got := out.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// An RC sender does not know which of its retransmissions were needed.
func TestTableOfRCRetransmissions(t *testing.T) {
	var out bytes.Buffer
	table := newPerfTable(&out, false)
	if err := table.add(bandwidthResult(65536)); err != nil {
		t.Fatal(err)
	}
	table.results[0].Retransmits, table.results[0].Spurious = 7, nil
	if err := table.finish(); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.HasSuffix(got, "\n retransmitted packets: 7\n") {
		t.Errorf("got\n%s", got)
	}
}

// TestTableSaysWhatWasNotGranted: the heading tells what was asked for and not agreed on.
func TestTableSaysWhatWasNotGranted(t *testing.T) {
	var out bytes.Buffer
	r := bandwidthResult(65536)
	r.PathsAsked, r.MTUAsked = 64, 8192
	if err := newPerfTable(&out, false).add(r); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"MTU 4096 (8192 asked for)", "4 (64 asked for) paths"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

func TestLatencyTable(t *testing.T) {
	var out bytes.Buffer
	table := newPerfTable(&out, false)
	r := &perf.Result{
		Op: perf.Send, Metric: perf.Latency, Bytes: 64, Iterations: 1000, QP: "rc", CC: "none", QPs: 1, TxDepth: 128, MTU: 1024,
		LatencyMicros: perf.LatencyMicros{Min: 4, Max: 120.5, P50: 5.25, Avg: 5.5, Stdev: 1, P99: 9, P999: 100},
	}
	if err := table.add(r); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	const (
		wantTitle  = " SEND latency: RC, 1 queue pair(s), MTU 1024, TX depth 128, congestion control none"
		wantHeader = " #bytes     #iterations    t_min[usec]    t_max[usec]    t_typical[usec]    t_avg[usec]    t_stdev[usec]    99% percentile[usec]    99.9% percentile[usec]"
		wantRow    = " 64         1000           4.00           120.50         5.25               5.50           1.00             9.00                    100.00"
	)
	if lines[1] != wantTitle || lines[3] != wantHeader || lines[4] != wantRow {
		t.Errorf("got\n%s", out.String())
	}
}

func TestPerfJSONIsOneObject(t *testing.T) {
	var out bytes.Buffer
	table := newPerfTable(&out, true)
	for _, size := range []int{2, 4} {
		if err := table.add(bandwidthResult(size)); err != nil {
			t.Fatal(err)
		}
	}
	if err := table.finish(); err != nil {
		t.Fatal(err)
	}
	var report perf.Report
	if err := json.Unmarshal(out.Bytes(), &report); err != nil {
		t.Fatal(err)
	}
	if report.Schema != perf.Schema || report.Bytes != 4 || len(report.Results) != 2 || report.Results[0].Bytes != 2 {
		t.Errorf("%+v", report)
	}
}

func TestProgressIsForTerminalsOnly(t *testing.T) {
	cmd := New(light()).Root
	var stderr bytes.Buffer
	cmd.SetErr(&stderr)
	p := newPerfProgress(cmd, false)
	p.show(perf.Progress{Elapsed: 1e9})
	p.clear()
	if stderr.Len() > 0 {
		t.Errorf("a pipe got %q", stderr.String())
	}
	p.w = &stderr
	p.show(perf.Progress{Elapsed: 2e9, Operations: 5, Bytes: 1e9})
	p.clear()
	if got := stderr.String(); got != "\r\x1b[K 2.0 s  5 operations  4.00 Gb/s\r\x1b[K" {
		t.Errorf("a terminal got %q", got)
	}
}

func TestAllSizes(t *testing.T) {
	f := perfFlags{all: true}
	sizes := f.sizes()
	if len(sizes) != 23 || sizes[0] != 2 || sizes[22] != 1<<23 {
		t.Errorf("sizes %v", sizes)
	}
}
