// Package numbers is the list of the numbers that the papers publish, each with what came of it here. docs/NUMBERS.md
// is made of it.
//
//	numbers.yaml:  what is published, and the row of a figure that it is compared with, or why there is none
//	measured.json: the rows of all figures, as the last runs had them
//	Table ──> both joined ──> Markdown
//
// To bring it up to date, run figures and let the test take what they print:
//
//	braid sim figure all --json > DIR/all.json
//	go test ./experiments/numbers -rewrite -measured DIR
package numbers
