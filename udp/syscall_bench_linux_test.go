package udp

import (
	"net/netip"
	"testing"
)

// BenchmarkSyscallCost is what the kernel takes for one small packet: the floor
// under every latency of the engine.
func BenchmarkSyscallCost(b *testing.B) {
	rx, err := openLoopback(rocePort, rxOptions{})
	noError(b, err)
	b.Cleanup(func() { noError(b, rx.close()) })
	pool, err := openTxPool(rx.local.Addr(), 0, 1, txOptions{})
	noError(b, err)
	b.Cleanup(func() { noError(b, pool.close()) })
	batch := newTxBatch(pool, 0)
	dst, err := newDestination(netip.AddrPortFrom(rx.local.Addr(), rocePort))
	noError(b, err)
	receive := func(b *testing.B) {
		_, err := rx.recv()
		noError(b, err)
	}
	send := func() {
		batch.begin(0, dst, 0, 120)
		batch.header(120)
		batch.flush()
	}
	b.Run("receive-nothing", func(b *testing.B) {
		for range b.N {
			receive(b)
		}
	})
	b.Run("send-and-receive", func(b *testing.B) {
		for range b.N {
			send()
			receive(b)
		}
	})
}
