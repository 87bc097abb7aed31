package export

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

type policy string

type flowRow struct {
	ID     uint32  `col:"flow"`
	Start  int64   `col:"start_ns"`
	FCT    float64 `col:"fct_us"`
	Policy policy  `col:"policy"`
	Done   bool    `col:"done"`
	Notes  []byte  `col:"-"`
}

func flows(n int) []flowRow {
	var rows []flowRow
	for i := range n {
		rows = append(rows, flowRow{
			ID: uint32(i), Start: int64(i) * 1000, FCT: 10 / (float64(i) + 3),
			Policy: policy(fmt.Sprintf("p%d", i%3)), Done: i%5 != 0,
		})
	}
	return rows
}

func write(t *testing.T, rows []flowRow, paths ...string) {
	t.Helper()
	w, err := CreateRows[flowRow](paths...)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	for _, row := range rows {
		if err := w.Append(row); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestBothFormatsReadBack(t *testing.T) {
	for _, n := range []int{0, 1, rowsPerBatch, rowsPerGroup + 1} {
		dir := t.TempDir()
		want := flows(n)
		if n > 0 {
			want[0] = flowRow{ID: math.MaxUint32, Start: math.MinInt64, FCT: math.Inf(-1), Policy: "a,\"b\"\n c", Done: true}
		}
		paths := []string{filepath.Join(dir, "flows.csv"), filepath.Join(dir, "flows.parquet")}
		write(t, want, paths...)
		for _, path := range paths {
			got, err := ReadRows[flowRow](path)
			if err != nil {
				t.Fatalf("%d rows: %v", n, err)
			}
			if len(got) != len(want) {
				t.Fatalf("%s: %d rows, want %d", path, len(got), len(want))
			}
			for i := range want {
				if !reflect.DeepEqual(got[i], want[i]) {
					t.Fatalf("%s: row %d is %+v, want %+v", path, i, got[i], want[i])
				}
			}
		}
		wantFiles(t, dir, "flows.csv", "flows.parquet")
	}
}

func TestCSVBytes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "flows.csv")
	write(t, []flowRow{{ID: 1, Start: -5, FCT: 0.1, Policy: `say "hi", all`, Done: true}, {FCT: math.NaN(), Policy: " x"}}, path)
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := "flow,start_ns,fct_us,policy,done\n1,-5,0.1,\"say \"\"hi\"\", all\",true\n0,0,NaN,\" x\",false\n"
	if string(got) != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestSameRecordsSameBytes(t *testing.T) {
	for _, name := range []string{"flows.csv", "flows.parquet"} {
		var files [][]byte
		for range 2 {
			path := filepath.Join(t.TempDir(), name)
			write(t, flows(5000), path)
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

func TestNothingAppearsBeforeClose(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "flows.csv")
	if err := os.WriteFile(path, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	w, err := CreateRows[flowRow](path)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Append(flowRow{}); err != nil {
		t.Fatal(err)
	}
	if content, err := os.ReadFile(path); err != nil || string(content) != "old" {
		t.Errorf("before Close: %q, %v", content, err)
	}
	w.Abort()
	if content, err := os.ReadFile(path); err != nil || string(content) != "old" {
		t.Errorf("after Abort: %q, %v", content, err)
	}
	wantFiles(t, dir, "flows.csv")
	if err := w.Append(flowRow{}); !errors.Is(err, ErrClosed) {
		t.Errorf("Append after Abort: %v", err)
	}
	if err := w.Close(); !errors.Is(err, ErrClosed) {
		t.Errorf("Close after Abort: %v", err)
	}
}

func TestABadRecordLeavesNoFile(t *testing.T) {
	dir := t.TempDir()
	schema := Schema{{"a", Int64}, {"b", String}}
	for _, bad := range []Record{{IntValue(1)}, {IntValue(1), FloatValue(2)}, {}} {
		w, err := Create(filepath.Join(dir, "x.parquet"), schema)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Append(bad); !errors.Is(err, ErrSchema) {
			t.Errorf("%v: %v", bad, err)
		}
		if err := w.Close(); !errors.Is(err, ErrSchema) {
			t.Errorf("Close after %v: %v", bad, err)
		}
	}
	type wide struct {
		N uint64 `col:"n"`
	}
	w, err := CreateRows[wide](filepath.Join(dir, "x.csv"), filepath.Join(dir, "x.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Append(wide{N: math.MaxUint64}); !errors.Is(err, ErrValue) {
		t.Errorf("a number beyond int64: %v", err)
	}
	wantFiles(t, dir)
}

func TestBadTargets(t *testing.T) {
	dir := t.TempDir()
	if _, err := CreateRows[flowRow](filepath.Join(dir, "x.csv"), filepath.Join(dir, "x.xlsx")); !errors.Is(err, ErrFormat) {
		t.Errorf("unknown ending: %v", err)
	}
	if _, err := CreateRows[flowRow](); !errors.Is(err, ErrFormat) {
		t.Errorf("no target at all: %v", err)
	}
	if _, err := CreateRows[flowRow](filepath.Join(dir, "none", "x.csv")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing directory: %v", err)
	}
	// A directory of the target's name makes the rename fail, after all is written.
	if err := os.MkdirAll(filepath.Join(dir, "taken.csv", "full"), 0o755); err != nil {
		t.Fatal(err)
	}
	w, err := CreateRows[flowRow](filepath.Join(dir, "taken.csv"))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err == nil {
		t.Error("a directory was replaced")
	}
	wantFiles(t, dir, "taken.csv")
}

func TestSchemas(t *testing.T) {
	type missing struct{ A int }
	type nested struct {
		A struct{} `col:"a"`
	}
	type twice struct {
		A int `col:"a"`
		B int `col:"a"`
	}
	type named struct {
		A int `col:"A b"`
	}
	type hidden struct {
		a int `col:"a"`
	}
	_ = hidden{a: 1}
	for name, of := range map[string]func() (Schema, error){
		"no tag": SchemaOf[missing], "nested": SchemaOf[nested], "twice": SchemaOf[twice], "name": SchemaOf[named],
		"hidden": SchemaOf[hidden], "not a struct": SchemaOf[int], "empty": SchemaOf[struct{}],
	} {
		if schema, err := of(); !errors.Is(err, ErrSchema) {
			t.Errorf("%s: %v, %v", name, schema, err)
		}
	}
	got, err := SchemaOf[flowRow]()
	want := Schema{{"flow", Int64}, {"start_ns", Int64}, {"fct_us", Float64}, {"policy", String}, {"done", Bool}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
}

func TestReadChecksTheFile(t *testing.T) {
	type other struct {
		ID int `col:"id"`
	}
	dir := t.TempDir()
	for _, name := range []string{"flows.csv", "flows.parquet"} {
		path := filepath.Join(dir, name)
		write(t, flows(3), path)
		if _, err := ReadRows[other](path); !errors.Is(err, ErrSchema) {
			t.Errorf("%s read as another type: %v", name, err)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content[:len(content)-7], 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadRows[flowRow](path); !errors.Is(err, ErrValue) {
			t.Errorf("%s cut short: %v", name, err)
		}
	}
	type narrow struct {
		N int8 `col:"n"`
	}
	path := filepath.Join(dir, "n.csv")
	if err := os.WriteFile(path, []byte("n\n300\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadRows[narrow](path); !errors.Is(err, ErrValue) {
		t.Errorf("300 in an int8: %v", err)
	}
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

func FuzzTextSurvivesCSV(f *testing.F) {
	for _, seed := range []string{"", " ", "a,b", `"`, "\n", "\r", "x\ry", "#", "\xff"} {
		f.Add(seed)
	}
	schema := Schema{{"only", String}}
	f.Fuzz(func(t *testing.T, text string) {
		var out bytes.Buffer
		e, err := newCSVEncoder(&out, schema)
		if err != nil {
			t.Fatal(err)
		}
		if err := e.encode(Record{StringValue(text)}); err != nil {
			t.Fatal(err)
		}
		records, err := readCSV(&out, schema)
		if err != nil || len(records) != 1 {
			t.Fatalf("%q: %d records, %v", text, len(records), err)
		}
		if want := strings.ReplaceAll(text, "\r\n", "\n"); records[0][0].Text() != want {
			t.Errorf("%q came back as %q", text, records[0][0].Text())
		}
	})
}
