package bundle

import (
	"time"

	"github.com/braid-rdma/braid/bundle/machine"
)

// Everything has a limit; these are the ones of a bundle, with reasons.
const (
	// defaultQueuePairs and defaultChunk are what Data Partition §IV found: 2 to 5
	// queue pairs, and no gain from chunks below 32 KiB.
	defaultQueuePairs = 4
	defaultChunk      = 32 << 10
	// defaultChunks is how many chunks of a queue pair are under way. Data Partition has one,
	// which waits for each completion; on loopback four are twice as fast as one, and sixteen
	// no more than a third faster. Each more makes a slow path hold the end up for longer.
	defaultChunks = 4
	// defaultDepth is how many chunks a queue pair may have; balancers mostly want fewer.
	defaultDepth = 16
	// defaultRequests is how many requests, and how many receives, may be outstanding
	// or not polled. It is below machine.MaxAnnounced, which the peer holds us to.
	defaultRequests = 1024
	// recvDepth is the receives of a queue pair for the peer's messages: four times
	// what it may have outstanding, so that it meets no empty queue.
	recvDepth = 4 * machine.ControlDepth
	// messageLen is the longest message: what a work request carries inline.
	messageLen = 1024
	eager      = messageLen - machine.HeaderLen

	// maxTwoSidedChunk bounds the memory of a receive that takes a chunk, and boxBytes
	// that of all receives of a connection, which a stranger may ask for; minBoxes are left
	// of those for each of machine.MaxLanes queue pairs. With fewer than the peer has
	// outstanding, it is made to wait.
	maxTwoSidedChunk = 64 << 10
	boxBytes         = 16 << 20
	minBoxes         = boxBytes / maxTwoSidedChunk / machine.MaxLanes

	// assembleTimeout bounds the time in which the first queue pair of a connection must
	// have come, and maxPlaces the connections of a listener that wait for some, or for
	// Accept: each holds a completion queue and up to 4 MiB of receives, or 16 if they are two-sided. One address may
	// hold one in placeShare of the free places: 21 if it is alone, enough for the start of
	// a parallel program. Who is refused for this asks again.
	assembleTimeout = 10 * time.Second
	maxPlaces       = 64
	placeShare      = 2
	// joinGrace is how long Dial and Accept wait for the other queue pairs once the
	// first is there: some round trips on a busy machine, and nothing that a program
	// would notice where a path is missing.
	joinGrace = 200 * time.Millisecond
	// defaultRepairTimeout is how long a connection may be without any queue pair. The
	// connection manager repeats itself over all paths, so a peer that cannot be reached
	// for so long is gone. Below minRepairTimeout one lost datagram would end it.
	defaultRepairTimeout = 30 * time.Second
	minRepairTimeout     = 100 * time.Millisecond
	// targetTimeout bounds an attempt to reach the peer at one of several addresses: on
	// its outcome waits what the last queue pair had written, and another may do. The
	// connection manager repeats a request three times within it.
	targetTimeout = time.Second
	// homePause is how often a lane that is away from its own address asks there: one
	// datagram and its reply.
	homePause = 2 * time.Second
	// repairPause is the first pause between two attempts; it doubles up to maxRepairPause.
	repairPause    = 20 * time.Millisecond
	maxRepairPause = 2 * time.Second
	// byeTimeout bounds the time that Close spends on telling the peer.
	byeTimeout = time.Second
)
