package cm

import "time"

// Everything has a limit; these are the ones of a manager, with reasons. Those
// of the conversation itself are in package machine.
const (
	// defaultBacklog is how many proven requests wait for a listener's program.
	// It is large because a storm of connections is what a restart of many clients
	// looks like, and a waiting request costs about a kilobyte.
	defaultBacklog = 4096
	// dialWindow is how many requests to one peer may be unanswered. A storm of
	// them all at once would overflow the peer's queue pair 1, and what is lost
	// has to wait for its repetition.
	dialWindow = 256
	// closeWait bounds the time that Conn.Close waits for the peer's answer. The
	// DREQ is repeated for longer, in the background.
	closeWait = time.Second

	// agentReceives is how many datagrams may arrive before the agent has run.
	// More are lost, and repeated by their senders.
	agentReceives = 2048
	// agentSends is how many datagrams may wait for the engine.
	agentSends = 256
	// stepDatagrams is how many datagrams one Step takes, so that a flood on queue
	// pair 1 does not keep commands from the manager's lock: at a few microseconds
	// each, about a millisecond. They are taken at once, because in a flood the
	// device's lock is what the agent waits for.
	stepDatagrams = 256
	// crowd is how many datagrams in one Step make the manager wait for crowdPause
	// before the next: a storm of honest clients is served at 256 per millisecond,
	// more than their queue pairs can be made.
	crowd      = 32
	crowdPause = time.Millisecond
	// promptRequests is how many requests of a listener are handled before the next datagrams are taken: who takes
	// those may be who moves data.
	promptRequests = 4
	// maxHandles bounds the address handles that are kept for peers.
	maxHandles = 4096
)
