// Package netconn makes net.Conn and net.Listener out of braid channels, so that
// net/http, gRPC and what else uses package net runs over braid unchanged:
//
//	l, err := netconn.Listen(server, 7174)
//	err = http.Serve(l, handler)
//
//	d := netconn.Dialer{Context: client}
//	web := &http.Client{Transport: &http.Transport{DialContext: d.DialContext}}
//	rpc, err := grpc.NewClient("passthrough:///server:7174", grpc.WithContextDialer(d.DialAddress), ...)
//
// A program that can choose is better served by channels themselves: messages need no
// framing, calls find their responses, and what arrives is not copied.
//
// # The stream
//
// Each direction is a stream of bytes that travels in one-way messages; where they are cut has no
// meaning, and one of no bytes is the end of the stream.
//
//	Write ──> parts ──> Channel.SendAll ──> Channel.Receive ──> the rest of a message ──> Read
//
// A Write of up to 8 small messages (Config.SmallMessage, 4 KiB) is copied into them, and they leave together. It
// returns before the peer reads, as long as the peer's window has room: two ends that
// write to each other before they read do not wait for ever. A longer one is cut into
// parts of 512 KiB that the peer reads in place, several at a time; Write returns when the peer's Read has begun with
// the last of them.
//
// A message costs more than its bytes. Streams that are written in pieces of 32 KiB, as io.Copy and
// gRPC do, gain from a Config.SmallMessage of that length on both sides: 1 MiB took 1.8 ms
// instead of 3.0 on two cores (go test -bench Pieces ./netconn). It takes up to Config.Window times
// as much memory per busy connection.
//
// # Deadlines and errors
//
// A deadline ends calls that wait when it is set and calls that come later, until it is moved, with
// os.ErrDeadlineExceeded. The n of a Write is exact then: the peer gets n bytes, and
// writing the rest makes the stream whole.
//
// Read returns io.EOF when the peer has called CloseWrite or Close, after all that it wrote.
// A channel that ends without that, be it that the peer has died, is an error that
// errors.Is finds as one of package braid's: the stream may have been cut. After Close,
// and after CloseWrite in Write, errors are net.ErrClosed. All but io.EOF are *net.OpError.
//
// Close returns at once. Until the peer has read what was written, or Config.Linger has
// passed, the channel lives on and discards what comes; closing the context waits for it.
package netconn
