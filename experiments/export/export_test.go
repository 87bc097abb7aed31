package export

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"iter"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go"
)

type policy string

type flowRow struct {
	ID     int     `parquet:"flow,delta"`
	Start  int64   `parquet:"start_ns,delta"`
	FCT    float64 `parquet:"fct_us"`
	Policy policy  `parquet:"policy,dict"`
	Done   bool    `parquet:"done"`
	Notes  []byte  `parquet:"-"`
}

func flows(n int) []flowRow {
	var rows []flowRow
	for i := range n {
		rows = append(rows, flowRow{
			ID: i, Start: int64(i) * 1000, FCT: 10 / (float64(i) + 3),
			Policy: policy(fmt.Sprintf("p%d", i%3)), Done: i%5 != 0,
		})
	}
	return rows
}

func mustWrite(t *testing.T, rows []flowRow, paths ...string) {
	t.Helper()
	if err := Write(slices.Values(rows), paths...); err != nil {
		t.Fatal(err)
	}
}

func TestBothFormatsReadBack(t *testing.T) {
	for _, n := range []int{0, 1, rowsPerBatch, rowsPerGroup + 1} {
		dir := t.TempDir()
		want := flows(n)
		if n > 0 {
			want[0] = flowRow{ID: math.MaxInt, Start: math.MinInt64, FCT: math.Inf(-1), Policy: "a,\"b\"\n c", Done: true}
		}
		mustWrite(t, want, filepath.Join(dir, "flows.csv"), filepath.Join(dir, "flows.parquet"))
		got, err := parquet.ReadFile[flowRow](filepath.Join(dir, "flows.parquet"))
		if err != nil {
			t.Fatalf("%d rows: %v", n, err)
		}
		if !slices.EqualFunc(got, want, equal) {
			t.Errorf("%d rows came back from Parquet as %d others", n, len(got))
		}
		if got := readCSV(t, filepath.Join(dir, "flows.csv")); !slices.EqualFunc(got, want, equal) {
			t.Errorf("%d rows came back from CSV as %d others", n, len(got))
		}
		wantFiles(t, dir, "flows.csv", "flows.parquet")
	}
}

func equal(a, b flowRow) bool {
	return a.ID == b.ID && a.Start == b.Start && a.FCT == b.FCT && a.Policy == b.Policy && a.Done == b.Done
}

func readCSV(t *testing.T, path string) []flowRow {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	rows := make([]flowRow, len(lines)-1)
	for i, line := range lines[1:] {
		row := &rows[i]
		if _, err := fmt.Sscan(fmt.Sprint(line[0], " ", line[1], " ", line[2], " ", line[4]), &row.ID, &row.Start, &row.FCT, &row.Done); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		row.Policy = policy(line[3])
	}
	return rows
}

func TestCSVBytes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "flows.csv")
	mustWrite(t, []flowRow{{ID: 1, Start: -5, FCT: 0.1, Policy: `say "hi", all`, Done: true}, {FCT: math.NaN(), Policy: " x"}}, path)
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := "flow,start_ns,fct_us,policy,done\n1,-5,0.1,\"say \"\"hi\"\", all\",true\n0,0,NaN,\" x\",false\n"
	if string(got) != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestSameRowsSameBytes(t *testing.T) {
	for _, name := range []string{"flows.csv", "flows.parquet"} {
		var files [][]byte
		for range 2 {
			path := filepath.Join(t.TempDir(), name)
			mustWrite(t, flows(5000), path)
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, content)
		}
		if !bytes.Equal(files[0], files[1]) {
			t.Errorf("%s: two runs differ", name)
		}
	}
}

// TestNothingAppearsBeforeTheEnd looks at the old file while the rows are written.
func TestNothingAppearsBeforeTheEnd(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "flows.csv")
	if err := os.WriteFile(path, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	var rows iter.Seq[flowRow] = func(yield func(flowRow) bool) {
		for _, row := range flows(3 * rowsPerBatch) {
			yield(row)
		}
		if content, err := os.ReadFile(path); err != nil || string(content) != "old" {
			t.Errorf("before the end: %q, %v", content, err)
		}
	}
	if err := Write(rows, path); err != nil {
		t.Fatal(err)
	}
	wantFiles(t, dir, "flows.csv")
}

func TestBadTargets(t *testing.T) {
	dir := t.TempDir()
	rows := slices.Values(flows(1))
	if err := Write(rows, filepath.Join(dir, "x.csv"), filepath.Join(dir, "x.xlsx")); !errors.Is(err, ErrFormat) {
		t.Errorf("unknown ending: %v", err)
	}
	if err := Write(rows, filepath.Join(dir, "none", "x.csv")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing directory: %v", err)
	}
	// A directory of the target's name makes the rename fail, after all is written.
	if err := os.MkdirAll(filepath.Join(dir, "taken.csv", "full"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := Write(rows, filepath.Join(dir, "taken.csv")); err == nil {
		t.Error("a directory was replaced")
	}
	wantFiles(t, dir, "taken.csv")
}

// wantFiles checks that the directory holds these names and no others: temporary
// files included.
func wantFiles(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, entry := range entries {
		got = append(got, entry.Name())
	}
	if !slices.Equal(got, want) {
		t.Errorf("directory holds %q, want %q", got, want)
	}
}
