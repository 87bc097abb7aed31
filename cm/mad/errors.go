package mad

import "errors"

// What can be wrong with bytes that claim to be a message.
var (
	// ErrLength: a datagram that is not Len bytes long.
	ErrLength = errors.New("mad: a management datagram has 256 bytes")
	// ErrVersion: a base or class version that is not supported here.
	ErrVersion = errors.New("mad: unknown version")
	// ErrClass: a datagram of another management class.
	ErrClass = errors.New("mad: not of the communication management class")
	// ErrAttribute: a method or message that is not supported here.
	ErrAttribute = errors.New("mad: unknown message")
	// ErrIPHeader: private data that does not begin with the addresses of the
	// RDMA CM.
	ErrIPHeader = errors.New("mad: no RDMA CM addresses in the private data")
)
