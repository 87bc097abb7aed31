package topology

import (
	"errors"
	"fmt"
)

// What can be wrong with a graph. Check wraps them in a NodeError or a
// LinkError that says where, except for those about the graph as a whole.
var (
	// ErrNoHosts: a network without hosts has nothing to carry.
	ErrNoHosts = errors.New("graph has no hosts")
	// ErrTooLarge: a limit of limits.go is exceeded.
	ErrTooLarge = errors.New("graph is too large")
	// ErrHostList: Hosts, GroupOf and the nodes of kind Host do not agree.
	ErrHostList = errors.New("list of hosts does not match the nodes")
	// ErrKind: a node is neither a host nor a switch.
	ErrKind = errors.New("unknown kind of node")
	// ErrNoName: faults and captures address nodes and links by name.
	ErrNoName = errors.New("has no name")
	// ErrDuplicateName: two nodes, or two links, share a name.
	ErrDuplicateName = errors.New("name is already taken")
	// ErrNoNode: a link ends at a node that does not exist.
	ErrNoNode = errors.New("ends at an unknown node")
	// ErrSelfLoop: a link joins a node with itself.
	ErrSelfLoop = errors.New("joins a node with itself")
	// ErrRate: a link that never sends a bit.
	ErrRate = errors.New("rate must be positive")
	// ErrDelay: a packet would arrive before it was sent.
	ErrDelay = errors.New("delay must not be negative")
	// ErrTooManyPorts: a node has more links than MaxPorts.
	ErrTooManyPorts = errors.New("has too many ports")
	// ErrUnconnected: a node without a link.
	ErrUnconnected = errors.New("has no link")
	// ErrDisconnected: some host cannot be reached, given that hosts do not
	// forward.
	ErrDisconnected = errors.New("cannot reach every host")
	// ErrConfig: a field of a builder is out of range; see ConfigError.
	ErrConfig = errors.New("invalid topology configuration")
)

// A NodeError says which node of a graph is at fault.
type NodeError struct {
	Node int // index in Graph.Nodes
	Name string
	Err  error
}

// Error names the node by number and name.
func (e *NodeError) Error() string {
	return fmt.Sprintf("topology: node %d %q: %v", e.Node, e.Name, e.Err)
}

// Unwrap lets errors.Is find the reason.
func (e *NodeError) Unwrap() error { return e.Err }

// A LinkError says which link of a graph is at fault.
type LinkError struct {
	Link int // index in Graph.Links
	Name string
	Err  error
}

// Error names the link by number and name.
func (e *LinkError) Error() string {
	return fmt.Sprintf("topology: link %d %q: %v", e.Link, e.Name, e.Err)
}

// Unwrap lets errors.Is find the reason.
func (e *LinkError) Unwrap() error { return e.Err }

// A ConfigError says which field of a builder is out of range and what was
// expected, in the form that a scenario's author can act upon.
type ConfigError struct {
	Builder string // such as "LeafSpine"
	Field   string
	Value   any
	Want    string
}

// Error names the field, what it holds and what it should hold.
func (e *ConfigError) Error() string {
	return fmt.Sprintf("topology: %s.%s is %v: want %s", e.Builder, e.Field, e.Value, e.Want)
}

// Unwrap makes every ConfigError an ErrConfig.
func (e *ConfigError) Unwrap() error { return ErrConfig }
