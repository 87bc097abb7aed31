// Command braid measures and shows RDMA over many paths, on any NIC.
//
//	braid demo                        one connection over four paths, one of them cut
//	braid perf serve                  serve measurements
//	braid perf write bw HOST          measure against a server
//	braid perf write bw --loopback    measure between two processes of this machine
//	braid perf flows HOST...          measure the completion times of flows of many sizes
//	braid stat                        show the contexts and channels of running programs
//
//	braid lab run cuts                measure on a network of namespaces whose paths are cut
//
// Simulator, lab, agent and monitor are in braid-full, which this finds, or builds once.
package main

import "github.com/braid-rdma/braid/cmd/braid/command"

func main() { command.Main() }
