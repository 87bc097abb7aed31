package table

import (
	"strings"
	"unicode/utf8"
)

// Text renders the table for a terminal: aligned columns, two spaces apart.
func (t Table) Text() string {
	lines := t.grid(oneLine)
	widths := columnWidths(lines)
	var out strings.Builder
	for _, line := range lines {
		var text strings.Builder
		for i, cell := range line {
			if i > 0 && widths[i] > 0 {
				text.WriteString("  ")
			}
			pad(&text, cell, widths[i], numeric[i])
		}
		out.WriteString(strings.TrimRight(text.String(), " "))
		out.WriteByte('\n')
	}
	return out.String()
}

// Markdown renders the table for a README: pipes, aligned in the source as well.
func (t Table) Markdown() string {
	lines := t.grid(func(cell string) string { return strings.ReplaceAll(oneLine(cell), "|", `\|`) })
	widths := columnWidths(lines)
	var out strings.Builder
	for n, line := range lines {
		for i, cell := range line {
			if widths[i] == 0 {
				continue
			}
			out.WriteString("| ")
			pad(&out, cell, widths[i], numeric[i])
			out.WriteByte(' ')
		}
		out.WriteString("|\n")
		if n == 0 {
			writeRuler(&out, widths)
		}
	}
	return out.String()
}

// writeRuler writes the line of Markdown that parts the headings from the rows.
func writeRuler(out *strings.Builder, widths []int) {
	for i, width := range widths {
		switch {
		case width == 0:
		case numeric[i]:
			out.WriteString("| " + strings.Repeat("-", max(2, width-1)) + ": ")
		default:
			out.WriteString("| " + strings.Repeat("-", max(3, width)) + " ")
		}
	}
	out.WriteString("|\n")
}

// grid returns the headings and all rows as clean cells; the cells of columns
// that are not shown are empty.
func (t Table) grid(clean func(string) string) [][]string {
	shown := t.shown()
	grid := make([][]string, 0, len(t)+1)
	add := func(cells []string) {
		line := make([]string, len(cells))
		for i, cell := range cells {
			if shown[i] || len(t) == 0 {
				line[i] = clean(cell)
			}
		}
		grid = append(grid, line)
	}
	add(headings)
	for _, row := range t {
		add(row.cells())
	}
	return grid
}

// columnWidths counts characters, not bytes: units such as µs have both.
func columnWidths(lines [][]string) []int {
	widths := make([]int, len(headings))
	for _, line := range lines {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	return widths
}

func pad(out *strings.Builder, cell string, width int, right bool) {
	blanks := strings.Repeat(" ", width-utf8.RuneCountInString(cell))
	if right {
		out.WriteString(blanks + cell)
	} else {
		out.WriteString(cell + blanks)
	}
}

// oneLine turns every run of white space into one space, so that no cell breaks
// the table.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
