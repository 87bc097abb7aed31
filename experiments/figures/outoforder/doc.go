// Package outoforder runs the experiment of MP-RDMA §5.2.1, from which figures 1,
// 14a and 14b are drawn: five connections across the four paths of the testbed,
// one path of which differs from the others.
//
//	scenario.yaml + Case ──> Run: warm up, then measure ──> Measurement
//	Measurements of several seeds ──> Pool ──> out-of-order degrees, throughput
//
// A Case says what is wrong with path 4, how many packets the receiver tracks (L)
// and at what degree the sender prunes a path (Δ).
package outoforder
