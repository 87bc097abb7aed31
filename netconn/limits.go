package netconn

const (
	// longPart is how much of a long Write goes into one message. Several are on their way at once, so that the peer's
	// program takes one while the next comes; it bounds what is copied if a deadline comes meanwhile.
	longPart = 512 << 10
	// manySmall is up to how many small messages a Write goes as such. They are copied, and so
	// the writer need not wait for a reader, who may be writing as well; one long message
	// is neither copied nor does it need as many operations.
	manySmall = 8
)
