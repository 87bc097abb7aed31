package netconn

import "time"

const (
	// maxChunk is the longest message that a Write is cut into. It bounds what a peer needs for
	// a message that nobody has read, and how much of a Write is copied if its deadline
	// comes meanwhile. Its price is one wait for the peer's Read per chunk.
	maxChunk = 1 << 20
	// manySmall is up to how many small messages a Write goes as such. They are copied, and so
	// the writer need not wait for a reader, who may be writing as well; one long message
	// is neither copied nor does it need as many operations.
	manySmall = 8
	// closeTime is how long a closed connection tries to send the end of its stream to a
	// peer that does not read. Channel.Close then waits for Config.Linger.
	closeTime = 5 * time.Second
)
