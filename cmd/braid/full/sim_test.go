package full

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/braid-rdma/braid/cmd/braid/internal/cli"
	"github.com/braid-rdma/braid/experiments/sweep"
)

func TestSimRunPrintsOneObject(t *testing.T) {
	out := t.TempDir()
	code, stdout, stderr := braid(t, "sim", "run", "quickstart", "--seed", "3", "--json", "--out", out)
	var summary struct {
		Schema int    `json:"schema"`
		Seed   uint64 `json:"seed"`
		Flows  struct{ Done, Total int }
	}
	if err := json.Unmarshal([]byte(stdout), &summary); code != 0 || err != nil {
		t.Fatalf("code %d, %v: %s%s", code, err, stdout, stderr)
	}
	if summary.Schema != 1 || summary.Seed != 3 || summary.Flows.Done != 5 || summary.Flows.Total != 5 {
		t.Errorf("summary %+v", summary)
	}
	for _, name := range []string{"flows.csv", "flows.parquet", "links.csv", "summary.json"} {
		if info, err := os.Stat(filepath.Join(out, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The result is a function of scenario and seed, not of the number of threads.
func TestSimRunIsTheSameWithTwoWorkers(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	for dir, workers := range map[string]string{one: "1", two: "2"} {
		if code, _, stderr := braid(t, "sim", "run", "quickstart", "--workers", workers, "--out", dir); code != 0 {
			t.Fatal(stderr)
		}
	}
	for _, name := range []string{"flows.csv", "links.csv"} {
		a, err1 := os.ReadFile(filepath.Join(one, name))
		b, err2 := os.ReadFile(filepath.Join(two, name))
		if err1 != nil || err2 != nil || string(a) != string(b) {
			t.Errorf("%s differs (%v, %v)", name, err1, err2)
		}
	}
}

func TestSimSaysWhatIsWrong(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.yaml")
	text := "name: bad\ntopology: {kind: testbed}\ntransports:\n  mp: {kind: mp, delat: 3}\nworkload:\n  - {kind: permutation, bytes: 1MB}\n"
	if err := os.WriteFile(bad, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args string
		want string
	}{
		{"sim run nowhere", "'braid sim list' shows those that come with braid"},
		{"sim run " + bad, `bad.yaml:4`},
		{"sim run " + bad, `did you mean "delta"`},
		{"sim run quickstart --set transports.mp.delta=hello", "transports.mp.delta"},
		{"sim figure mp-rdma-99", "there is no figure"},
		{"sim sweep quickstart --grid delta", "key=value,value"},
		{"sim sweep quickstart --grid nothing=1", "nothing"},
		{"sim sweep quickstart --grid transports.mp.delta=8,16,65,66", "2 of 4 points cannot be run:\ntransports.mp.delta=65: "},
		{"sim sweep quickstart --grid transports.mp.delta=1000,1001,1002,1003,1004,1005,1006", "and 2 more"},
		{"sim sweep quickstart --grid seed=1 --seeds 0", "--seeds 0"},
		{"sim sweep quickstart --grid seed=1 --out /dev/null/sweep", "not a directory"},
		{"sim sweep quickstart --nats nats://127.0.0.1:1", "cannot reach"},
		{"sim fuzz --seeds 0", "--seeds 0"},
		{"sim fuzz --seed 1 --seeds 2", "seed"},
	} {
		code, stdout, stderr := braid(t, strings.Fields(test.args)...)
		if code == 0 || !strings.Contains(stderr, test.want) {
			t.Errorf("%s: code %d, %q, want %q", test.args, code, stdout+stderr, test.want)
		}
	}
}

func TestSimListNamesEverything(t *testing.T) {
	code, stdout, stderr := braid(t, "sim", "list")
	if code != 0 {
		t.Fatal(stderr)
	}
	for _, want := range []string{"mp-rdma-11a", "data-partition-7-10", "quickstart", "leaf-spine", "poisson"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("the list lacks %s", want)
		}
	}
	if code, stdout, _ := braid(t, "sim", "list", "--json"); code != 0 || !json.Valid([]byte(stdout)) {
		t.Errorf("code %d: %s", code, stdout)
	}
	if code, stdout, _ := braid(t, "sim", "list", "--fields", "quickstart"); code != 0 || !strings.Contains(stdout, "transports.mp.delta") {
		t.Errorf("code %d: %s", code, stdout)
	}
}

// A sweep gives the same lines here and through its own work queue.
func TestSimSweepIsTheSameEverywhere(t *testing.T) {
	args := []string{"sim", "sweep", "quickstart", "--grid", "transports.mp.delta=8,32", "--grid", "fabric.mtu=1024", "--seeds", "2", "--json"}
	code, local, stderr := braid(t, args...)
	if code != 0 || strings.Count(local, "\n") != 4 {
		t.Fatalf("code %d: %s%s", code, local, stderr)
	}
	code, queued, stderr := braid(t, append(args, "--listen", "127.0.0.1:0")...)
	if code != 0 || queued != local {
		t.Errorf("code %d, %s: through the queue:\n%swant\n%s", code, stderr, queued, local)
	}
}

func TestSimSweepWritesATable(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	code, stdout, stderr := braid(t, "sim", "sweep", "quickstart", "--grid", "transports.mp.delta=8,32", "--seeds", "2", "--out", dir)
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	if code != 0 || len(lines) != 6 || !strings.HasPrefix(lines[0], "transports.mp.delta  seed  done ") || !strings.HasPrefix(lines[3], "32                   1     5/5 ") {
		t.Errorf("code %d: %s%s", code, stdout, stderr)
	}
	file, err := os.Open(filepath.Join(dir, "runs.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil || len(rows) != 5 {
		t.Fatalf("%d rows, %v, want 5", len(rows), err)
	}
	if got := strings.Join(rows[0][:5], " "); got != "transports.mp.delta seed flows done failed" {
		t.Errorf("the columns begin with %s", got)
	}
	if got := strings.Join(rows[4][:5], " "); got != "32 2 5 5 0" {
		t.Errorf("the last row begins with %s", got)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "runs.jsonl")); err != nil || strings.Count(string(data), "\n") != 4 {
		t.Errorf("runs.jsonl: %v, %q", err, data)
	}
}

// A run that fails has a row too.
func TestSweepTableShowsFailures(t *testing.T) {
	var b strings.Builder
	found := []sweep.Result{{Settings: []string{"a=1"}, Seed: 1, Error: "went\nwrong"}, {Settings: []string{"a=2"}, Seed: 1, Summary: []byte(`{"flows": {"total": 3, "done": 0}}`)}}
	if err := (sweepOutput{}).write(&b, found); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(b.String(), "\n")
	if len(lines) != 4 || !strings.HasPrefix(lines[1], "1  1     -     -  ") || !strings.HasSuffix(lines[1], "  went wrong") || !strings.HasPrefix(lines[2], "2  1     0/3   0       0           -  ") {
		t.Errorf("got\n%s", b.String())
	}
}

// A sweep whose own workers cannot work says so, and does not wait for others.
func TestSimSweepWithoutWorkers(t *testing.T) {
	server, err := sweep.StartServer("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	conn, err := nats.Connect(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	// A work queue has one consumer.
	stream := jetstream.StreamConfig{Name: "braid-sweep-jobs", Subjects: []string{"braid.sweep.jobs"}, Retention: jetstream.WorkQueuePolicy}
	if _, err := js.CreateStream(t.Context(), stream); err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateConsumer(t.Context(), stream.Name, jetstream.ConsumerConfig{Durable: "another"}); err != nil {
		t.Fatal(err)
	}
	if _, err := (sweepPlace{workers: 1}).workAlong(t.Context(), io.Discard, server.URL(), []sweep.Job{{}}, nil); !errors.Is(err, sweep.ErrNATS) {
		t.Errorf("the sweep ends with %v", err)
	}
}

func TestSimFigureWritesAReport(t *testing.T) {
	dir := t.TempDir()
	code, stdout, stderr := braid(t, "sim", "figure", "mp-rdma-4", "--quick", "--out", dir, "--json")
	if code != 0 || !json.Valid([]byte(stdout)) {
		t.Fatalf("code %d: %s%s", code, stdout, stderr)
	}
	page, err := os.ReadFile(filepath.Join(dir, "index.html"))
	if err != nil || !strings.Contains(string(page), "<svg") {
		t.Errorf("the report: %v, %d bytes", err, len(page))
	}
}

func TestSimFuzzRunsSeeds(t *testing.T) {
	code, stdout, stderr := braid(t, "sim", "fuzz", "--seeds", "10", "--json")
	var report struct {
		Seeds    int
		Failures []any
		Covered  []struct {
			Group, Name string
			Seeds       int
		}
	}
	if err := json.Unmarshal([]byte(stdout), &report); code != 0 || err != nil || report.Seeds != 10 || len(report.Failures) != 0 {
		t.Errorf("code %d, %v: %s%s", code, err, stdout, stderr)
	}
	if c := report.Covered; len(c) < 3 || c[0].Group != "network" || c[0].Seeds+c[1].Seeds+c[2].Seeds != 10 {
		t.Errorf("covered %+v, want a network for each of 10 seeds", c)
	}
}

func TestSimFuzzSaysWhatItCovered(t *testing.T) {
	code, stdout, stderr := braid(t, "sim", "fuzz", "--seeds", "2")
	for _, want := range []string{"2 seeds, 0 failed", "\n  network: ", "\n  transport: ", "\n  fault: ", "\n  work: "} {
		if code != 0 || !strings.Contains(stdout, want) {
			t.Errorf("code %d, no %q in: %s%s", code, want, stdout, stderr)
		}
	}
}

// The trace of a simulation is a function of scenario and seed.
func TestSimTrace(t *testing.T) {
	dir := t.TempDir()
	var files [2]string
	for i, name := range []string{"a", "b"} {
		path := filepath.Join(dir, name)
		code, _, stderr := braid(t, "sim", "run", "quickstart", "--set", "transports={mp: {kind: rc}}", "--cc", "dcqcn", "--trace", path)
		if code != cli.ExitOK { // on stderr is the progress, if it takes long
			t.Fatal(stderr)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files[i] = string(data)
	}
	if files[0] != files[1] {
		t.Error("two runs have different traces")
	}
	if sent := strings.Count(files[0], `"packet_sent"`); sent < 1000 || !strings.Contains(files[0], `"rate_updated"`) {
		t.Errorf("%d packets are sent", sent)
	}
}
