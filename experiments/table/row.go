package table

import "math"

// A Row is one number of a paper and what came of it here.
type Row struct {
	Figure   string // which figure or table of which paper, such as "MP-RDMA 12a"
	Quantity string // what the number is, such as "average goodput"
	Unit     string // of both numbers
	// Published is the number in the paper, NoNumber if it gives none.
	Published float64
	// Measured is our number, NoNumber if the run did not yield it.
	Measured  float64
	Tolerance Tolerance
	Note      string // what a reader must know to compare the two
}

// NoNumber returns the value that stands for a number that does not exist.
func NoNumber() float64 { return math.NaN() }

func exists(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// Ratio returns measured divided by published, and whether there is such a
// number.
func (r Row) Ratio() (float64, bool) {
	if !exists(r.Published) || !exists(r.Measured) || r.Published == 0 {
		return 0, false
	}
	return r.Measured / r.Published, true
}

// A Verdict says what a row shows.
type Verdict int

// The verdicts.
const (
	// Within means that the measured number lies within the tolerance.
	Within Verdict = iota
	// Outside means that it does not.
	Outside
	// Unpublished means that the paper gives no number to compare with.
	Unpublished
	// Unmeasured means that the run did not yield the number.
	Unmeasured
	// Unjudged means that both numbers exist but no tolerance is stated.
	Unjudged
)

// Verdicts lists all verdicts in the order of tables and summaries.
func Verdicts() []Verdict { return []Verdict{Within, Outside, Unpublished, Unmeasured, Unjudged} }

// String returns the words that tables use.
func (v Verdict) String() string {
	switch v {
	case Within:
		return "within"
	case Outside:
		return "outside"
	case Unpublished:
		return "no number published"
	case Unmeasured:
		return "not measured"
	default:
		return "not judged"
	}
}

// Verdict judges the row. A bound that is stated in absolute terms can be judged
// without a published number: a paper may say "less than a second" and no more.
func (r Row) Verdict() Verdict {
	switch {
	case !exists(r.Measured):
		return Unmeasured
	case !exists(r.Published) && !r.Tolerance.absolute():
		return Unpublished
	case r.Tolerance.kind == unstated:
		return Unjudged
	case r.Tolerance.holds(r.Published, r.Measured):
		return Within
	default:
		return Outside
	}
}
