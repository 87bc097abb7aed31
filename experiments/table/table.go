package table

// A Table is a list of rows in the order in which they are shown.
type Table []Row

// Count returns how many rows have the verdict.
func (t Table) Count(v Verdict) int {
	n := 0
	for _, row := range t {
		if row.Verdict() == v {
			n++
		}
	}
	return n
}

// Outside returns the rows whose measured number lies outside its tolerance.
func (t Table) Outside() Table {
	var rows Table
	for _, row := range t {
		if row.Verdict() == Outside {
			rows = append(rows, row)
		}
	}
	return rows
}

// headings are the columns of the tables for readers; numeric tells which of
// them are aligned to the right.
var (
	headings = []string{"figure", "quantity", "unit", "published", "measured", "ratio", "tolerance", "verdict", "note"}
	numeric  = []bool{false, false, false, true, true, true, false, false, false}
)

// cells writes a row for readers, in the order of headings.
func (r Row) cells() []string {
	return []string{
		r.Figure, r.Quantity, r.Unit,
		published(r.Published), measured(r.Measured, r.Published), r.ratio(),
		r.Tolerance.String(), r.Verdict().String(), r.Note,
	}
}

// shown tells which columns hold anything: a table without notes should not have
// an empty column for them.
func (t Table) shown() []bool {
	shown := make([]bool, len(headings))
	for _, row := range t {
		for i, cell := range row.cells() {
			shown[i] = shown[i] || cell != ""
		}
	}
	return shown
}
