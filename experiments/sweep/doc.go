// Package sweep runs one scenario for every point of a grid of parameters, on the
// processors of this machine or of many.
//
//	ParseGrid ──> Grid.Points ──> Local:  goroutines of this process
//	                          └─> Queue:  jobs in a NATS work queue ──> Work, anywhere
//	                                      results ──────────────────<──┘
//
// A job says everything that its run depends on, so a result does not depend on
// who computed it, and a job that was computed twice because a machine died
// counts once. Results come back in the order of the grid.
package sweep
