// Package datapartition is what the reproductions of "RDMA Load Balancing via
// Data Partition" have in common: a transfer of 10 MB beside 200 background
// streams, cut into chunks that go to whichever queue pair has completed its last
// one. Each of the paper's three networks has a package of its own
// (datapartition0710, 0811, 0912) with its scenario, its published numbers and
// its README; each draws the pair of figures that share their runs.
//
//	Experiment.Figure ──> plan: queue pairs x chunks x seeds, and what varies an assumption
//	                  ──> simulate each (simulate.go) ──> Grid: means over seeds (grid.go)
//	                  ──> plots (plots.go), the paper's numbers (Experiment.Rows)
package datapartition
