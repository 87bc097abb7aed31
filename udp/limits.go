package udp

// Everything has a limit; these are the ones of an engine's tables.
const (
	// maxPeers bounds the table of peers; beyond it a peer is made anew when
	// needed, which costs speed and nothing else.
	maxPeers = 1 << 16
	// maxAddresses bounds the local addresses of a device, each of which costs a
	// socket: a host with containers has one for each bridge.
	maxAddresses = 256
)
