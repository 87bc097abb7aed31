package ibverbs

import (
	"net/netip"
	"time"
)

// Config says which device to open, and how.
type Config struct {
	// Addr is the local address: the device is the one that has a RoCEv2 GID of it. The
	// zero Addr is the first address that the named device has, or the first device with one.
	Addr netip.Addr
	// Device is the name that libibverbs has for the device, such as mlx5_0 or rxe0;
	// empty: any.
	Device string
	// DSCP is the traffic class of what is sent.
	DSCP uint8
	// ManagementPort is the UDP port that carries what package cm sends to queue pair 1,
	// which is not to be had of a NIC; 0 means 4792. Both ends need the same. At each
	// address one program can hold it.
	ManagementPort uint16
	// Spin is how long a waiting thread polls before it blocks; 0 means 50 µs, negative not at all.
	Spin time.Duration
}
