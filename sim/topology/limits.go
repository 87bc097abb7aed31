package topology

// Limits of a graph. Each bounds a table whose size a scenario file could
// otherwise choose freely.
const (
	// MaxHosts and MaxSwitches bound the routing table, which has one entry of
	// four bytes for each pair of them: 2 GiB at both limits, 20 MB for 8,192
	// hosts and 600 switches.
	MaxHosts    = 1 << 16
	MaxSwitches = 1 << 13

	// MaxLinks allows every host several NICs and every switch 128 uplinks.
	MaxLinks = 1 << 20

	// MaxPorts is what a port number of 16 bits can tell apart.
	MaxPorts = 1 << 16
)
