// Command braid-full is braid with all that it has: the everyday command, which starts it when it is needed, and simulator, lab,
// agent and monitor.
package main

import "github.com/braid-rdma/braid/cmd/braid/full"

func main() { full.Main() }
