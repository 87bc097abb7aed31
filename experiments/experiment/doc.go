// Package experiment runs figures that are declared as data: a base scenario, cases that change it, what is measured,
// the rows that compare it with a paper, and the pictures.
//
//	Experiment ──cases × seeds──> scenario.Change ──> simulation ──> Reading
//	Results (all readings) ──> Rows, Plots, one CSV line per run
//
// There is one driver, Run; a figure has no loop of its own. Copy the folder of a figure, change its scenario and
// its cases, and list it in experiments/figures.
package experiment
