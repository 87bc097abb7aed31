package trials

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"strings"
	"text/tabwriter"
)

// Grid is a table to read: what was measured, side by side.
type Grid struct {
	Title   string     `json:"title"`
	Columns []string   `json:"columns"` // the first names the rows
	Rows    [][]string `json:"rows"`
}

// add adds a row.
func (g *Grid) add(cells ...string) { g.Rows = append(g.Rows, cells) }

// Text renders the grid for a terminal.
func (g *Grid) Text() string {
	var b strings.Builder
	fmt.Fprintln(&b, g.Title)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{g.Columns}, g.Rows...) {
		fmt.Fprintln(w, "  "+strings.Join(row, "\t"))
	}
	// It writes into memory.
	_ = w.Flush()
	return b.String()
}

// Markdown renders the grid for a document.
func (g *Grid) Markdown() string {
	var b strings.Builder
	line := func(cells []string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	line(g.Columns)
	rule := make([]string, len(g.Columns))
	for i := range rule {
		rule[i] = "---"
	}
	line(rule)
	for _, row := range g.Rows {
		line(row)
	}
	return b.String()
}

// CSV renders the grid for spreadsheets.
func (g *Grid) CSV() ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	if err := w.WriteAll(append([][]string{g.Columns}, g.Rows...)); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// gigabits writes a rate.
func gigabits(rate float64) string { return fmt.Sprintf("%.2f", rate/1e9) }
