package ping

import "time"

// Everything has a limit; these are the ones of both ends, with reasons.
const (
	// MaxWrite is the longest WRITE: long enough to fill a path for a while.
	MaxWrite = 1 << 20
	// MinSize is the shortest probe: its header.
	MinSize = headerLen
	// datagramReceives is how many datagrams may arrive before their thread has run. More are
	// lost, and an overloaded host has them for a sign of it.
	datagramReceives = 256
	// datagramSends is how many datagrams of a prober may wait for the engine.
	datagramSends = 256
	// maxPending bounds the probes of a prober that wait for a reply.
	maxPending = 1 << 14
	// maxWriters bounds the connections of a prober. Where more are wanted they take turns.
	maxWriters = 1024
	// dialsWhenBusy is how often a connection is asked for where the responder has no room: another is closed for it each
	// time, and roomTime is what the responder may need to see that.
	dialsWhenBusy = 3
	roomTime      = 10 * time.Millisecond
	// writerDepth is how many WRITEs of one connection may be outstanding: a probe that
	// waits behind more than a few others tells nothing new, and is not sent.
	writerDepth = 4

	// DefaultConnections is how many connections a responder has; one address may have
	// this part of them.
	DefaultConnections = 256
	addressShare       = 4
	// DefaultIdle is how long a connection without a WRITE lives.
	DefaultIdle = 2 * time.Minute
	// acceptTime bounds the time that a prober takes to complete its connection.
	acceptTime = 10 * time.Second

	// DefaultRate is how many datagrams per second of one source are replied to, and
	// burst how many at once: a prober with 100 paths that asks on all of them ten times a second.
	DefaultRate = 1000
	burst       = 256
	// rateBuckets is how many counts of datagrams there are. Sources that share one share
	// its rate, so that an attacker with many addresses can slow others, but take no memory.
	rateBuckets = 4096

	// relearnAfter is how many datagrams are lost in a row before the peer is asked anew who it is:
	// it may have been restarted.
	relearnAfter = 3
	relearnTime  = 5 * time.Second
	// sampleWindow is how many of the latest replies percentiles are of.
	sampleWindow = 1000
)
