// Package braid moves messages between machines over RDMA, on all paths of the
// network at once. It is the front door: an application needs no other package.
//
// A [Context] is a device and one thread's worth of work. A [Channel] is a
// connection of two contexts. It carries one-way messages and calls of up to a
// gigabyte:
//
//	c, err := braid.Open(braid.Config{})
//	l, err := c.Listen(7174)
//	err = l.Serve(ctx, func(ctx context.Context, m *braid.Msg) ([]byte, error) {
//		return m.Bytes(), nil // an echo
//	})
//
// and on another machine:
//
//	ch, err := c.Dial(ctx, "server:7174")
//	reply, err := ch.Call(ctx, []byte("hello"))
//
// It follows X-RDMA (Ma et al., CLUSTER 2019): small messages take one operation
// into buffers that wait for them, large ones are read by the receiver from where
// they are (§IV-C); a window that the receiver's application opens keeps every
// send from finding no buffer (§V-B).
//
//	Send, Call ──> inbox ──> whoever owns the context ──> session ──> verbs
//	Receive <── deliveries <── the same <── completions
//
// # Threads
//
// There is no lock around a context. What a goroutine wants done goes into an
// inbox; one goroutine at a time owns the context and does all there is to do,
// for itself and for the others. The device has a lock. The owner takes it to
// post and to poll; other goroutines take it for a moment in large sends and
// one-sided operations, to register the memory and to end that.
//
// A goroutine that waits for a message or a response polls the device itself,
// so that between a packet and its reader there is no other thread (§IV-B).
//
// # Tracing
//
// [Channel.TraceCall] tells where the time of a call went: in queues, on the wire in each direction, at the
// peer's handler (§VI-A). [Config].Trace traces a sample of all messages, and package braidotel makes
// OpenTelemetry spans of them.
package braid
