// Package mad turns bytes into the messages of the communication manager and
// messages into bytes: the management datagrams (MADs) by which RDMA peers set
// up and end connections on queue pair 1.
//
//	datagram = header (24 bytes) | message (232 bytes)
//
//	Parse            header checked, attribute chooses the message, fields read
//	Append           header and message written, reserved bytes zero
//	ParseIPHeader    the addresses that the RDMA CM puts before a REQ's private data
//
// The layouts are those of the InfiniBand specification, volume 1: the header
// in 13.4.3, the messages in chapter 12. The IP header and the service
// identifiers of ports are those of annex A11 (RDMA IP CM service).
//
// Nothing here does I/O, reads a clock or keeps state. No input makes a parser
// panic. Bits that the formats reserve are written as zero and ignored when
// read.
package mad

import "github.com/braid-rdma/braid/wire"

// Sizes in bytes.
const (
	// Len is the length of every management datagram.
	Len = 256
	// HeaderLen is the part of it that all classes share.
	HeaderLen = 24
)

// Where management datagrams of general services travel.
const (
	// QPN is the queue pair that sends and receives them.
	QPN = wire.ManagementQPN
	// QKey is the key that admits a datagram to that queue pair.
	QKey wire.QKey = 0x80010000
)
