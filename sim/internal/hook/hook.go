// Package hook lets the fuzzer of the simulator look, and reach, inside a
// simulation.
//
// # The flow
//
//	sim (init) ──> fills in the hooks ──> sim/fuzz calls them with a Network
//
// The fuzzer puts a layer around queue pairs to see every payload that is placed,
// and its tests plant bugs there to show that they are found. None of it belongs
// in the programming interface of the simulator, so it is behind an internal
// package; the network is passed as any because sim imports this package.
package hook

import (
	"net"

	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
	"github.com/braid-rdma/braid/wire"
)

var (
	// Decorate puts a layer between the engine of a host and one of its queue
	// pairs. Posts do not pass through it; packets, timers and completions do.
	Decorate func(network any, host int, number wire.QPN, layer func(transport.QP) transport.QP)

	// LoseResume makes switches lose the count-th XON frame that they send, and stop
	// their neighbours for ever, as if pauses had no time.
	LoseResume func(network any, count int)

	// DecorateDetours puts layers around what programs use beside the network, from then on.
	DecorateDetours func(network any, layers Detours)
)

// Detours are layers around detours and streams of a network; nil: none.
type Detours struct {
	Watcher func(verbs.NetworkWatcher) verbs.NetworkWatcher
	Way     func(verbs.Way) verbs.Way
	Stream  func(net.Conn) net.Conn
}
