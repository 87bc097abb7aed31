package numbers

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/braid-rdma/braid/experiments/figures"
)

var (
	rewrite = flag.Bool("rewrite", false, "write docs/NUMBERS.md anew")
	folder  = flag.String("measured", "", "with -rewrite: a directory with what braid sim figure --json has printed")
)

const page = "../../docs/NUMBERS.md"

func TestMain(m *testing.M) {
	flag.Parse()
	if *rewrite {
		if err := writeAnew(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// writeAnew takes what was printed, if anything was, and makes the page.
func writeAnew() error {
	l, m, err := read()
	if err != nil {
		return err
	}
	var files []string
	if *folder != "" {
		if files, err = filepath.Glob(filepath.Join(*folder, "*.json")); err != nil {
			return err
		}
	}
	for _, file := range files {
		printed, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := m.Add(printed); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile("measured.json", append(text, '\n'), 0o644); err != nil {
		return err
	}
	return os.WriteFile(page, Markdown(l, m), 0o644)
}

func read() (*List, Measured, error) {
	list, err := os.ReadFile("numbers.yaml")
	if err != nil {
		return nil, nil, err
	}
	rows, err := os.ReadFile("measured.json")
	if err != nil {
		return nil, nil, err
	}
	l, err := Load(list)
	if err != nil {
		return nil, nil, err
	}
	m, err := LoadMeasured(rows)
	return l, m, err
}

func load(t *testing.T) (*List, Measured) {
	t.Helper()
	l, m, err := read()
	if err != nil {
		t.Fatal(err)
	}
	return l, m
}

func TestPage(t *testing.T) {
	l, m := load(t)
	had, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(had, Markdown(l, m)) {
		t.Error("docs/NUMBERS.md is not what the list and the measured rows make; -rewrite writes it anew")
	}
}

// Every number that is outside has a reason, and every row that a full run leaves out is noticed.
func TestNumbers(t *testing.T) {
	l, m := load(t)
	for i := range l.Numbers {
		n := &l.Numbers[i]
		if n.Figure == "" {
			continue
		}
		if _, ok := figures.Named(n.Figure); !ok {
			t.Errorf("%s, %s: there is no figure %q", n.Paper, n.Quantity, n.Figure)
		}
		run, row := m.Find(n.Figure, n.Row)
		if run != nil && row == nil && !run.Quick {
			t.Errorf("%s has no row %q", n.Figure, n.Row)
		}
		if n.judge(m).fate == outside && n.Why == "" {
			t.Errorf("%s, %s is outside without a reason", n.Paper, n.Quantity)
		}
	}
}

// Every row with a published number is in the list, once: as a number, or as a further reading of one.
func TestEveryRowIsListed(t *testing.T) {
	l, m := load(t)
	for figure, run := range m {
		for i := range run.Rows {
			row := &run.Rows[i]
			times := 0
			for _, n := range l.Numbers {
				if n.Figure == figure && n.Row == row.Quantity {
					times++
				}
			}
			if slices.Contains(l.Second[figure], row.Quantity) {
				times++
			}
			if row.Published != nil && times != 1 {
				t.Errorf("%s, %q occurs %d times in numbers.yaml, want once", figure, row.Quantity, times)
			}
		}
	}
}

// A quick run adds what is new and replaces no full run.
func TestAdd(t *testing.T) {
	m := Measured{"a": {Rows: []Row{{Quantity: "q", Value: 1}}}}
	const printed = `{"quick": true, "figures": [
		{"name": "a", "table": {"rows": [{"quantity": "q", "measured": 2}]}},
		{"name": "b", "table": {"rows": [{"quantity": "q", "measured": 3, "verdict": "outside"}]}}]}`
	if err := m.Add([]byte(printed)); err != nil {
		t.Fatal(err)
	}
	_, a := m.Find("a", "q")
	run, b := m.Find("b", "q")
	if a.Value != 1 || b.Value != 3 || !run.Quick {
		t.Errorf("a has %v, b %v", a.Value, b.Value)
	}
	n := Number{Figure: "b", Row: "q", Why: "so"}
	if got := n.judge(m); got.fate != outside || got.measured != "3 (quick)" {
		t.Errorf("judged %+v", got)
	}
}
