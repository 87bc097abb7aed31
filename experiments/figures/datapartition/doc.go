// Package datapartition is what the reproductions of "RDMA Load Balancing via Data Partition" have in common: a transfer
// of 10 MB beside 200 background streams, cut into chunks that go to whichever queue pair has completed its last one.
// Each of the paper's three networks has a package of its own (datapartition0710, 0811, 0912) with its scenario, its
// published numbers and its README; each draws the pair of figures that share their runs.
//
//	Network ──> cases: queue pairs x chunks, and what varies an assumption (setting.go)
//	        ──> plots (plots.go), the paper's numbers (rows.go) ──> experiment.Experiment
package datapartition
