// Package pcapng writes packets into a capture file that Wireshark, tshark and
// tcpdump read.
//
// # The flow
//
//	UDP payload ──> Datagram.Append ──> IP packet ──> Writer.WritePacket ──> io.Writer
//
// A program that sends and receives through a UDP socket never sees the headers
// around its payload; [Datagram] builds them from what the program knows. The
// packets of a [Writer] start with the IP header, have times in nanoseconds, and
// carry their direction and a comment where they are given.
//
// A file holds one section with one interface:
//
//	section header | interface description | enhanced packet | enhanced packet | …
//
// Every packet is handed to the io.Writer in a single call, and nothing is
// allocated once the Writer exists. A Writer belongs to one goroutine at a time.
package pcapng
