// Package rping is the other end of librdmacm's rping, in either role, over a
// connection that package cm has made:
//
//	client                                        server
//	SEND  where my ping is ────────────────────>  READ it
//	      <───────────────────────── go ahead ──  SEND
//	SEND  where my reply goes  ────────────────>  WRITE it
//	      <───────────────────────────── done ──  SEND
//	compares, and begins again or ends the connection
//
// Every message of the conversation has the same sixteen bytes: an address, a
// key and a length. What the server says means nothing but that it is its turn.
package rping
