// Package figure is what the reproductions of the papers' figures have in
// common: what a figure is, how it is run, and what it leaves behind.
//
//	Figure.Run(Options) ──> Outcome: plots, rows of published against measured, data
//	Write(dir, Outcome) ──> SVG, CSV and table files of one figure
//
// Each figure has a folder of its own under experiments/figures, with its
// scenario and a README that says what the paper did, what we do and where they
// differ.
package figure
