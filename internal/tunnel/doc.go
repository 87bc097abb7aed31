// Package tunnel carries packets through a stream, such as a TCP connection.
//
//	Carry, Control ─> queue ─> writer ─> stream ─> reader ─> Handler
//
// A frame is its length in two bytes, in network order, and that many bytes. Frames of up to MaxControl
// bytes are control frames; longer ones are packets. Carry never blocks: it appends to a queue, and Room says
// whether the queue has room. What is sent again when it is lost, and dropped when it came twice,
// is the packets' own business.
package tunnel
