package sim_test

import (
	"context"
	"fmt"

	"github.com/braid-rdma/braid"
	"github.com/braid-rdma/braid/sim"
	"github.com/braid-rdma/braid/sim/topology"
)

// A server and a client, written as for a machine, talk through a simulated network that loses one
// packet in twenty. The seed decides when the response comes.
func ExampleNetwork_Go() {
	graph, err := topology.LeafSpine{
		Leaves: 2, HostsPerLeaf: 1, Spines: 2, HostRate: 10e9,
		HostDelay: topology.Microsecond, FabricDelay: topology.Microsecond,
	}.Build()
	if err != nil {
		panic(err)
	}
	net, err := sim.New(graph, sim.Config{Seed: 7, Verify: true})
	if err != nil {
		panic(err)
	}
	_ = net.Impair(1, "h0-leaf0", sim.Both, sim.Impairment{Loss: 0.05})
	ctx := context.Background()

	_ = net.Go(1, func() {
		c, _ := braid.Open(braid.Config{Device: net.Device(1), Channels: 8})
		l, _ := c.Listen(7174)
		_ = l.Serve(ctx, func(_ context.Context, m *braid.Msg) ([]byte, error) {
			net.Sleep(1, 20*sim.Microsecond) // it thinks
			return m.Bytes(), nil
		})
	})
	_ = net.Go(0, func() {
		c, _ := braid.Open(braid.Config{Device: net.Device(0), Channels: 8})
		ch, err := c.Dial(ctx, "10.0.0.2:7174")
		if err != nil {
			panic(err)
		}
		reply, err := ch.Call(ctx, []byte("hello"))
		if err != nil {
			panic(err)
		}
		fmt.Printf("at %v: %s\n", net.Now(), reply.Bytes())
	})
	net.Run(sim.Second)
	net.Kill(0)
	net.Kill(1)
	// Output: at 50.008 µs: hello
}
