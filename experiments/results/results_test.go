package results

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/braid-rdma/braid/experiments/scenario"
)

const small = `name: small
duration: 2ms
topology: {kind: testbed, rates: [40Gbps, 10Gbps]}
fabric: {mtu: 1024, ecn: {kmin: 20KB, kmax: 20KB}, pfc: true}
transports:
  mp: {kind: mp}
  rc: {kind: rc, rate: dcqcn, ack-timeout: 6, retry: 1}
workload:
  - {kind: pairs, pairs: [[0, 5], [1, 6]], bytes: 200KB, transport: mp, class: long}
  - {kind: pairs, pairs: [[2, 7], [3, 8]], bytes: 50KB, transport: rc, class: short}
  - {kind: pairs, pairs: [[4, 9]], message: 1KB, rate: 100Mbps, transport: mp, class: stream}
faults:
  - {link: h3-tor0, down: true}
measure: {sample: 50us, flows: [0, 2], queues: [tor0-path1], windows: true, degrees: true}
`

func mustRun(t *testing.T, set ...string) *scenario.Run {
	t.Helper()
	s, err := scenario.Parse("test.yaml", []byte(small))
	if err == nil {
		err = s.Set(set...)
	}
	if err != nil {
		t.Fatal(err)
	}
	run, err := s.Start()
	if err == nil {
		err = run.Go(context.Background(), nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func TestSummary(t *testing.T) {
	s := Summarise(mustRun(t))
	if f := s.Flows; f.Total != 5 || f.Done != 3 || f.Failed != 1 || f.Endless != 1 || f.FCTUs.Count != 3 {
		t.Errorf("got %+v", f)
	}
	names := func(groups []Group) (names []string) {
		for _, g := range groups {
			names = append(names, g.Name)
		}
		return names
	}
	if got := names(s.Classes); !slices.Equal(got, []string{"long", "short", "stream"}) {
		t.Errorf("classes are %v", got)
	}
	if got := names(s.Transports); !slices.Equal(got, []string{"mp", "rc"}) {
		t.Errorf("transports are %v", got)
	}
	long := s.Classes[0]
	if long.Done != 2 || long.FCTUs.Min < 40 || long.Slowdown.Min < 1 || long.Goodput.Jain < 0.5 || long.Goodput.Jain > 1 {
		t.Errorf("got %+v", long)
	}
	// 400 KB in the time of the slower flow.
	if got, want := long.Goodput.TotalBps, 400_000*8/(long.FCTUs.Max/1e6); got < 0.999*want || got > 1.001*want {
		t.Errorf("together %.0f b/s, want %.0f", got, want)
	}
	if s.Network.Hops == 0 || s.Network.Events < s.Network.Hops/2 || s.Network.Lost == 0 || s.Network.PeakQueueBytes == 0 {
		t.Errorf("got %+v", s.Network)
	}
	if len(s.Degrees) != 1 || s.Degrees[0].Transport != "mp" || s.Cost == nil || !s.Complete {
		t.Errorf("got %+v, %+v", s.Degrees, s.Cost)
	}
}

func TestText(t *testing.T) {
	s := Summarise(mustRun(t))
	var b strings.Builder
	if err := s.Text(&b); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		"small (seed 1): 2.00 ms simulated\n", " all flows  class long  class short  class stream  transport mp  transport rc\n",
		"\n  failed              1          0           1 ", "\n  without an end      1          0           0            1 ",
		"\ncompletion time       of 3 done  of 2 done   of 1 done    of 0 done ", "Jain", "out-of-order degree of mp", "\n  lost to faults  ", "hops per second",
	} {
		if !strings.Contains(b.String(), part) {
			t.Errorf("%q is not in\n%s", part, b.String())
		}
	}
	if strings.Contains(b.String(), "had not finished") {
		t.Errorf("all flows are done or have failed, and the text says otherwise:\n%s", b.String())
	}
	s.Complete = false
	b.Reset()
	if err := s.Text(&b); err != nil || !strings.Contains(b.String(), "stopped before its end") {
		t.Errorf("%v in\n%s", err, b.String())
	}
}

// Percentiles of some of the flows say how many are not among them.
func TestUnfinished(t *testing.T) {
	s := Summarise(mustRun(t, "duration=100us"))
	if f := s.Flows; f.Unfinished != 3 || f.Done+f.Failed+f.Endless+f.Unfinished != f.Total {
		t.Errorf("got %+v, want 3 unfinished", f)
	}
	var b strings.Builder
	if err := s.Text(&b); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"\n  unfinished          3 ", "\ncompletion time       of 1 done, 3 not ", "3 of 5 flows had not finished when the run ended"} {
		if !strings.Contains(b.String(), part) {
			t.Errorf("%q is not in\n%s", part, b.String())
		}
	}
}

func TestJSON(t *testing.T) {
	s := Summarise(mustRun(t))
	var back Summary
	if err := json.Unmarshal(s.JSON(), &back); err != nil {
		t.Fatal(err)
	}
	if back.Schema != SchemaVersion || back.Flows != s.Flows || back.Network != s.Network || *back.Cost != *s.Cost {
		t.Errorf("got %+v, want %+v", back, s)
	}
}

func TestWrite(t *testing.T) {
	run := mustRun(t)
	dir := filepath.Join(t.TempDir(), "out")
	if err := Write(dir, run); err != nil {
		t.Fatal(err)
	}
	flows := readBack[FlowRow](t, dir, "flows")
	if len(flows) != 5 || flows[0].FCTUs <= 0 || flows[3].Error == "" || flows[3].FinishedUs != -1 || flows[4].Bytes != 0 {
		t.Errorf("got %+v", flows)
	}
	if links := readBack[LinkRow](t, dir, "links"); len(links) != 2*len(run.Scenario.Graph().Links) || links[0].Utilisation <= 0 {
		t.Errorf("got %d links", len(links))
	}
	if series := readBack[SampleRow](t, dir, "series"); len(series) != len(run.Samples.Times)*len(run.Samples.Series) {
		t.Errorf("got %d samples", len(series))
	}
	paths := readBack[PathRow](t, dir, "paths")
	if len(paths) != 64 || !slices.ContainsFunc(paths, func(p PathRow) bool { return p.Acknowledged > 0 }) {
		t.Errorf("got %d paths", len(paths))
	}
	if degrees := readBack[DegreeRow](t, dir, "degrees"); len(degrees) == 0 || degrees[0].Degree != 0 {
		t.Errorf("got degrees %v", degrees)
	}
}

// readBack returns the rows of a Parquet file, and checks that there are as many lines of CSV.
func readBack[T any](t *testing.T, dir, name string) []T {
	t.Helper()
	rows, err := parquet.ReadFile[T](filepath.Join(dir, name+".parquet"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, name+".csv"))
	if err != nil {
		t.Fatal(err)
	}
	if lines := bytes.Count(text, []byte("\n")); lines != len(rows)+1 {
		t.Errorf("%s has %d rows as Parquet and %d lines as CSV", name, len(rows), lines)
	}
	return rows
}

// TestSchemas: the columns of the files are what readers have written their notebooks for.
func TestSchemas(t *testing.T) {
	dir := t.TempDir()
	if err := Write(dir, mustRun(t)); err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, name := range []string{"flows.parquet", "links.parquet", "series.parquet", "paths.parquet", "degrees.parquet"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&got, name)
		fmt.Fprintln(&got, f.Schema())
	}
	want, err := os.ReadFile(filepath.Join("testdata", "schemas.golden"))
	if err != nil || got.String() != string(want) {
		t.Errorf("testdata/schemas.golden differs from (%v)\n%s", err, got.String())
	}
}

// The pictures of a run are of what it measured.
func TestPictures(t *testing.T) {
	for _, test := range []struct{ set, want string }{
		{"seed=1", "completion-times.svg goodput.svg queues.svg"},
		{"measure.sample=0 measure.flows=[] measure.queues=[] measure.windows=false", "completion-times.svg"},
		{"duration=100us", "goodput.svg queues.svg"}, // one flow is done
	} {
		dir := t.TempDir()
		if err := Write(dir, mustRun(t, strings.Fields(test.set)...)); err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(dir, "*.svg"))
		if err != nil {
			t.Fatal(err)
		}
		for i := range files {
			files[i] = filepath.Base(files[i])
		}
		if got := strings.Join(files, " "); got != test.want {
			t.Errorf("with %s got %q, want %q", test.set, got, test.want)
		}
	}
}

// TestSameBytes: the files of a run are a function of its scenario and seed.
func TestSameBytes(t *testing.T) {
	written := func(set ...string) map[string][]byte {
		dir := t.TempDir()
		if err := Write(dir, mustRun(t, set...)); err != nil {
			t.Fatal(err)
		}
		files, err := os.ReadDir(dir)
		if err != nil || len(files) != 14 {
			t.Fatalf("wrote %v: %v", files, err)
		}
		all := map[string][]byte{}
		for _, f := range files {
			if all[f.Name()], err = os.ReadFile(filepath.Join(dir, f.Name())); err != nil {
				t.Fatal(err)
			}
		}
		return all
	}
	want := written()
	for _, change := range []string{"workers=1", "workers=2"} {
		for name, data := range written(change) {
			if !bytes.Equal(data, want[name]) {
				t.Errorf("with %s %s differs", change, name)
			}
		}
	}
	if bytes.Equal(written("seed=2")["flows.csv"], want["flows.csv"]) {
		t.Error("another seed gives the same flows")
	}
}
