// Package trials are the experiments of the lab: braid's multi-path and standard
// queue pairs beside the kernel's TCP and MPTCP, on the same paths with the same
// faults in the same run.
//
// # The flow
//
//	All, Named ──> Trial.Run(Options)
//	   ──> a lab is built ──> for each kind of traffic: flows start, faults come and go
//	   ──> Outcome: a Grid to read, rows that are judged, plots, data
//	   ──> the lab is removed, also when the trial fails or is interrupted
//	Outcome.Write ──> grid.txt, grid.csv and grid.md, table.csv, SVG
//
// What single-path traffic gets depends on the path that the kernel's hash gives
// it. Where a fault is on some paths only, it is therefore measured on a path of
// each sort, and the mean over the paths is shown: what is to be expected.
//
// A machine that also does other work disturbs such measurements, always to the
// worse; the better of several runs is shown for each kind of traffic alike.
package trials
