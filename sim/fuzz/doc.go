// Package fuzz finds bugs by seed: it makes a datacenter, programs and faults of
// a number, runs them in verify mode and checks after every event what braid
// promises under every fault.
//
// # The flow
//
//	seed ──> scenario ──> world: sim.Network, talks, chats and channels of programs, faults
//	                        │ one event at a time
//	                        ├── placements, completions and books are checked
//	                        └── a broken promise ──> Failure ──> Shrink
//
// A scenario (scenario.go, generate.go) is plain data, so that a failing one can
// be cut down (shrink.go). A talk (talk.go) is a connection whose two ends post
// operations to each other; the model (extent.go) knows where every byte belongs.
// Keys end while they are in use (keys.go), talks of one host may share their receives
// (shared.go), and chats exchange datagrams (chat.go). Posts wait for completions, of
// the same connection or another (gates.go), and short requests must get their turns
// among long responses (turns.go).
// Channels (channel.go) are those of package braid: programs with goroutines send messages to each
// other, call, give up, close and die; what arrives is checked against what was sent (channel_send.go,
// channel_receive.go, channel_memory.go, channel_check.go). With Mock their packets move between the network
// and streams, by themselves or on command, while either fails (mock.go).
// Each payload is judged when it is placed (placement.go) and each completion when
// it comes (completion.go). While faults happen only safety is checked; after they
// have healed everything has to complete within a bound (world.go).
//
// Everything is a function of the seed: the command that a Failure prints replays
// it exactly.
package fuzz
