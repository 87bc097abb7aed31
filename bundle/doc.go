// Package bundle makes one connection of many ordinary queue pairs, each on a path of
// its own: Virtuoso's software multi-path and Data Partition's chunks, for peers and
// NICs that know RC only.
//
//	program ── Post, Write, Read, Send, Receive
//	   │
//	machine    cuts requests, chooses queue pairs, counts outcomes (bundle/machine)
//	   │
//	lanes      N queue pairs in one protection domain, one shared completion queue
//	   │
//	Wait, Poll <── one completion for each request, in the order of posting
//
// # Use
//
//	l, err := bundle.Listen(manager, 4000, bundle.Config{PD: pd})
//	c, err := l.Accept(ctx)
//
//	c, err := bundle.Dial(ctx, manager, "10.0.0.2:4000", bundle.Config{PD: pd, QueuePairs: 4})
//	defer c.Close()
//
//	err = c.Write(ctx, bundle.Buffer{MR: mr, Length: 1 << 20}, bundle.Remote{Addr: addr, RKey: key})
//	err = c.Read(ctx, bundle.Buffer{MR: mr, Length: 1 << 20}, bundle.Remote{Addr: addr, RKey: key})
//	err = c.Send(ctx, bundle.Buffer{MR: mr, Length: 1 << 20})    // needs a Receive of the peer
//	n, err := c.Receive(ctx, bundle.Buffer{MR: mr, Length: 2 << 20})
//
//	err = c.Post(bundle.Request{ID: 7, Op: bundle.OpWrite, Local: local, Remote: remote})
//	n, err := c.Wait(ctx, completions)                           // or Poll
//
// Config.Addresses uses several addresses of both hosts, Config.Standard dials peers that
// are not bundles, Config.TwoSided receives without giving the peer a key, and
// Config.Lossy avoids congestion where the network loses packets.
//
// # Rules
//
//  1. Memory is of Config.PD. That of a Receive needs LocalWrite and RemoteWrite:
//     the peer writes into it, nothing is copied but messages below 988 bytes.
//     With Config.TwoSided it needs LocalWrite only, and all messages are copied.
//  2. The memory of a request is in use until its completion, also when the context
//     of a blocking call ends first.
//  3. Requests complete in the order of posting, receives in theirs. Requests that
//     are under way together reach memory in any order; a Send is received after the
//     Writes and Reads that were posted before it are done.
//  4. A queue pair that breaks is replaced in the background, and what it had not
//     completed goes to others once; see package machine for what may be repeated and
//     when. A request fails only if it is at fault itself, or with the connection.
//  5. Close tells the peer. What is outstanding completes with ErrClosed.
package bundle
