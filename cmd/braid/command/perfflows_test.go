package command

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/braid-rdma/braid/cmd/braid/internal/cli"
	"github.com/braid-rdma/braid/internal/perf"
)

func TestFlowTable(t *testing.T) {
	late := uint64(2)
	times := perf.LatencyMicros{Avg: 20.5, P50: 10, P99: 100, P999: 1000}
	r := &perf.FlowResult{
		Op: perf.Read, Model: "web search", Loop: "open", OfferedGbps: 2.5, OnSeconds: 0.1, OffSeconds: 0.4, Depth: 16, Seed: 1,
		All: perf.FlowClass{Flows: 12, GoodputGbps: 1.5, CompletionMicros: times},
		Classes: []perf.FlowClass{
			{UpTo: 10e3, Flows: 10, GoodputGbps: 0.25, CompletionMicros: times},
			{Above: 10e6, Flows: 2, GoodputGbps: 1.25, CompletionMicros: times},
		},
		Servers: []perf.FlowServer{{Address: "a:1", Flows: 8, GoodputGbps: 1}, {Address: "b:1", Flows: 4, GoodputGbps: 0.5}},
		Waiting: 3, Retransmits: 5, Spurious: &late, QP: "mp", Policy: "ack-clock", CC: "mp-rdma", Paths: 4, MTU: 4096, Interrupted: true,
	}
	var out bytes.Buffer
	if err := printFlows(&out, r); err != nil {
		t.Fatal(err)
	}
	const want = `-------------------------------------------------------------------------------------------------------------
 flows of web search from 2 host(s): open loop, 2.5 Gb/s offered, on for 0.1 s and off for 0.4 s, up to 16 at a time with each host, seed 1
 MP, MTU 4096, 4 paths, policy ack-clock, congestion control mp-rdma
-------------------------------------------------------------------------------------------------------------
 size            #flows     goodput[Gb/sec]    FCT t_avg[usec]    t_50%[usec]    t_99%[usec]    t_99.9%[usec]
 up to 10 KB     10         0.25               20.50              10.00          100.00         1000.00
 above 10 MB     2          1.25               20.50              10.00          100.00         1000.00
 all             12         1.50               20.50              10.00          100.00         1000.00
 a:1: 8 flows, 1.00 Gb/sec
 b:1: 4 flows, 0.50 Gb/sec
 flows that did not arrive: 0 cut off on their way, 3 that waited, 0 too many to wait
 retransmitted packets: 5 (2 were not lost, only late)
 interrupted: what was measured until then
`
	if got := out.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestFlowPairsTable(t *testing.T) {
	times := perf.LatencyMicros{Avg: 20.5, P50: 10, P99: 100}
	r := &perf.FlowResult{
		AllToAll: true,
		Servers:  []perf.FlowServer{{Address: "alpha:1", Flows: 8, GoodputGbps: 1}, {Address: "b:1", Flows: 4, GoodputGbps: 0.5}},
		Pairs: []perf.FlowPair{
			{From: "alpha:1", To: "b:1", Flows: 4, GoodputGbps: 0.5, CompletionMicros: times},
			{From: "b:1", To: "alpha:1", Flows: 8, GoodputGbps: 1, CompletionMicros: times},
		},
		AtLimit: []string{"b:1: 1 Gb/s"}, Missing: []string{"c:1"},
	}
	var text strings.Builder
	writeFlowNotes(&text, r)
	const want = ` from     to       #flows     goodput[Gb/sec]    FCT t_avg[usec]    t_50%[usec]    t_99%[usec]
 alpha:1  b:1      4          0.50               20.50              10.00          100.00
 b:1      alpha:1  8          1.00               20.50              10.00          100.00
 alpha:1  received 8 flows, 1.00 Gb/sec
 b:1      received 4 flows, 0.50 Gb/sec
 sent what its --flows-rate allows: b:1: 1 Gb/s
 no report in time from c:1
`
	if text.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &text, want)
	}
	for range shownPairs {
		r.Pairs = append(r.Pairs, perf.FlowPair{From: "fast", GoodputGbps: 2})
	}
	text.Reset()
	writePairs(&text, r)
	if lines := strings.Count(text.String(), "\n"); lines != shownPairs+4 || !strings.Contains(text.String(), "the slowest 90 of 92 pairs") {
		t.Errorf("%d lines of many pairs:\n%s", lines, &text)
	}
}

// TestPerfFlows runs a model from a file against the second process.
func TestPerfFlows(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sizes")
	if err := os.WriteFile(file, []byte("100:50 100K:50\n100K:100\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := braid(t, "perf", "flows", "--loopback", "--cdf", file, "-D", "0.1", "--depth", "2", "--drain", "1m", "--json", "-i", "1m")
	if code != cli.ExitOK {
		t.Fatalf("exit code %d, %s", code, stderr)
	}
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	var result flowEvent
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &result); err != nil {
		t.Fatal(err)
	}
	if result.Event != "result" || result.Schema != perf.FlowSchema || result.Loop != "closed" || result.All.Flows == 0 {
		t.Errorf("%+v", result)
	}
	for _, c := range result.Classes {
		if size := c.Bytes / int64(c.Flows); size != 100 && size != 100_000 {
			t.Errorf("flows of %d bytes", size)
		}
	}
}

func TestFlowModels(t *testing.T) {
	for _, model := range flowModels() {
		cmd := newPerfFlows()
		f := &flowFlags{model: model}
		sizes, err := f.sizes(cmd)
		if err != nil || sizes.Mean() <= 0 || strings.ReplaceAll(sizes.Name(), " ", "-") != model && model != elephantsMice {
			t.Errorf("%s: %v, error %v", model, sizes, err)
		}
	}
	f := &flowFlags{cdf: filepath.Join(t.TempDir(), "none")}
	if _, err := f.sizes(newPerfFlows()); err == nil {
		t.Error("a file that is not there has sizes")
	}
}
