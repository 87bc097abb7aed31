package oob

import "time"

// Everything that a peer can make this side keep or wait for has a limit.
const (
	// MaxMessage is the longest message, in bytes of JSON: room for the private
	// data and MaxRegions regions.
	MaxMessage = 64 << 10
	// MaxPrivateData bounds what a program adds to the parameters.
	MaxPrivateData = 4096
	// MaxRegions bounds the regions that one side names to the other.
	MaxRegions = 256
	// MaxRegionName bounds the name of a region, in bytes.
	MaxRegionName = 64
	// MaxData bounds one message of Session.Send; as base64 it fits MaxMessage.
	MaxData = 32 << 10
	// maxReason bounds the words with which a peer refuses.
	maxReason = 256
	// maxBacklog bounds the messages that wait for Session.Receive. The session
	// must go on reading to notice the peer's death, so a peer that sends more
	// than the program takes is cut off.
	maxBacklog = 64

	// DefaultTimeout is the time for each step of a handshake: ample for a
	// network round trip and a busy machine, short for somebody who waits.
	DefaultTimeout = 5 * time.Second
	// byeTimeout bounds the goodbye, which nobody has to hear.
	byeTimeout = time.Second
	// The kernel probes a silent connection and ends it when the peer's host
	// has vanished: after keepAliveIdle and keepAliveProbes unanswered probes.
	keepAliveIdle     = 5 * time.Second
	keepAliveInterval = time.Second
	keepAliveProbes   = 5
)
