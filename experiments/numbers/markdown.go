package numbers

import (
	"bytes"
	"fmt"
	"strconv"
)

// The fates of numbers, as the table has them.
const (
	within  = "within"
	outside = "outside"
	other   = "measured otherwise"
	not     = "not reproducible here"
	missing = "not measured"
)

// line is a number with what came of it.
type line struct {
	*Number
	measured, fate, remark string
}

// Markdown is the table of all numbers. Its head counts them.
func Markdown(l *List, m Measured) []byte {
	counts := map[string]int{}
	quick := 0
	var table bytes.Buffer
	paper := ""
	for i := range l.Numbers {
		n := l.Numbers[i].judge(m)
		counts[n.fate]++
		if run := m[n.Figure]; run != nil && run.Quick {
			quick++
		}
		if n.Paper != paper {
			paper = n.Paper
			fmt.Fprintf(&table, "\n## %s\n\n| section | quantity | published | measured | verdict | figure, and why |\n| --- | --- | --- | --- | --- | --- |\n", paper)
		}
		fmt.Fprintf(&table, "| %s | %s | %s | %s | %s | %s |\n", n.Section, n.Quantity, n.Number.Published, n.measured, n.fate, n.remark)
	}
	var out bytes.Buffer
	total := len(l.Numbers)
	fmt.Fprintf(&out, "# The papers' numbers\n\n**%d of %d distinct published numbers are within their tolerance**", counts[within], total)
	fmt.Fprintf(&out, ": of %d that figures compare, %d are outside; %d were measured by other means, %d cannot be reproduced here",
		counts[within]+counts[outside]+counts[missing], counts[outside], counts[other], counts[not])
	if n := counts[missing]; n > 0 {
		fmt.Fprintf(&out, ", %d wait for a full run", n)
	}
	out.WriteString(".\n")
	if quick > 0 {
		fmt.Fprintf(&out, "%d are of quick runs, which are smaller than the papers, and say so.\n", quick)
	}
	out.WriteString(head)
	out.Write(table.Bytes())
	return out.Bytes()
}

const head = `
A number that a paper states in several places, or that we read in several ways, has one line here; the figures have a row
for each reading. Bounds of our own are no numbers. Tolerances are those of the figures' tables: 10 % for throughput, 25 %
for tails, and the bound itself where the paper states one. This page is made by a test, from
[the list of numbers](../experiments/numbers/numbers.yaml) and [what figures have measured](../experiments/numbers/measured.json):

    braid sim figure all --json > DIR/all.json
    go test ./experiments/numbers -rewrite -measured DIR
`

// judge finds what came of a number.
func (n *Number) judge(m Measured) line {
	switch {
	case n.Not != "":
		return line{n, "–", not, n.Not}
	case n.Elsewhere != "":
		return line{n, n.Elsewhere, other, n.Why}
	}
	run, row := m.Find(n.Figure, n.Row)
	remark := "`" + n.Figure + "`"
	if row == nil {
		return line{n, "–", missing, remark}
	}
	measured := number(row.Value)
	if row.Unit != "" && row.Unit != "ratio" && row.Unit != "share" {
		measured += " " + row.Unit
	}
	if run.Quick {
		measured += " (quick)"
	}
	if row.Verdict != within {
		return line{n, measured, outside, remark + ": " + n.Why}
	}
	if n.But != "" {
		remark += ": " + n.But
	}
	return line{n, measured, within, remark}
}

// number writes four significant digits, and whole numbers in full.
func number(v float64) string {
	if v >= 10_000 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 4, 64), 64)
	if err != nil {
		return err.Error() // never
	}
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}
