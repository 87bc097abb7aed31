package scenario

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrInvalid is wrapped by every refusal of a scenario.
var ErrInvalid = errors.New("invalid scenario")

// An Error is one thing that is wrong with a scenario: where it stands, what is
// there and what was expected.
type Error struct {
	File         string
	Line, Column int    // from 1; 0 where the value came from an override or is missing
	Field        string // such as "transports.mp.delta" or "faults[2].link"
	Got          string // what the field holds; empty: nothing
	Want         string // what was expected
	Suggestion   string // what the author may have meant; empty: no idea
}

// Error is a line that compilers could have printed, so that editors can jump to
// the place.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", e.Line, e.Column)
	}
	b.WriteString(": ")
	if e.Field != "" {
		b.WriteString(e.Field + ": ")
	}
	if e.Got != "" {
		b.WriteString("got " + e.Got + ", ")
	}
	b.WriteString("expected " + e.Want)
	if e.Suggestion != "" {
		fmt.Fprintf(&b, "; did you mean %q?", e.Suggestion)
	}
	return b.String()
}

// Unwrap makes every Error an ErrInvalid.
func (e *Error) Unwrap() error { return ErrInvalid }

// Errors is all that is wrong with a scenario, in the order of its lines.
type Errors []*Error

// Error has a line for each.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, one := range e {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.As find the first *Error and errors.Is find ErrInvalid.
func (e Errors) Unwrap() []error {
	all := make([]error, len(e))
	for i, one := range e {
		all[i] = one
	}
	return all
}

// orNil returns the errors in the order of lines, or nil if there are none.
func (e Errors) orNil() error {
	if len(e) == 0 {
		return nil
	}
	slices.SortStableFunc(e, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return e
}

// similar returns the candidate that a word is most like, or nothing if none is
// close: an author who mistypes gets most letters right.
func similar(word string, candidates []string) string {
	best, least := "", 1+max(1, len(word)/3)
	for _, c := range candidates {
		if d := distance(strings.ToLower(word), strings.ToLower(c), least); d < least {
			best, least = c, d
		}
	}
	return best
}

// nearest returns the candidates that a word is most like, the nearest first.
func nearest(word string, candidates []string, count int) []string {
	type candidate struct {
		name  string
		steps int
	}
	byName := make([]candidate, len(candidates))
	for i, c := range candidates {
		byName[i] = candidate{c, distance(strings.ToLower(word), strings.ToLower(c), len(word)+len(c)+1)}
	}
	slices.SortStableFunc(byName, func(a, b candidate) int { return cmp.Compare(a.steps, b.steps) })
	names := make([]string, min(count, len(byName)))
	for i := range names {
		names[i] = byName[i].name
	}
	return names
}

// distance is the number of letters to insert, delete, replace or exchange with
// their neighbour, as far as it is below limit.
func distance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	// Rows of the table for the letters of a before the last, up to the last, and
	// up to the present one.
	older, old, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		older, old, row = old, row, older
		row[0] = i + 1
		for j := range len(b) {
			replaced := old[j]
			if a[i] != b[j] {
				replaced++
			}
			row[j+1] = min(replaced, old[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], older[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
