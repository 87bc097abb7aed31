// Package table compares what a paper published with what was measured.
//
// # The flow
//
//	Row{Published, Measured, Tolerance} ──> Ratio, Verdict
//	Table of rows ──> Text, Markdown, CSV, JSON, HTML; Count of each verdict
//
// A row is one published number. Its verdict follows from the measured value and
// the tolerance alone, so a table is judged the same way on the terminal, in the
// report and by a test. Text, Markdown and HTML round for the reader; CSV and
// JSON keep every digit for programs. The same rows give the same bytes.
package table
