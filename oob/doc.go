// Package oob connects two queue pairs out of band: it exchanges their
// parameters over a TCP connection, and watches that connection afterwards, so
// that each side learns when the other dies.
//
//	client                                     server
//	Dial ───────────── TCP ─────────────────> Accept
//	Connect: hello (parameters) ────────────> Peer: read and checked
//	         hello <─────────────────────────  Connect: its own parameters
//	         queue pair to RTS                 queue pair to RTS
//	         ready ──────────────────────────>
//	         <────────────────────────── ready
//	Session: traffic may start; the TCP connection stays open
//	         data, both ways, as the program likes
//	         bye, or the end of the connection: both queue pairs go to ERR
//
// Nobody sends before both queue pairs are ready to receive. Every step has a
// deadline, so a peer that dies or dawdles in the middle costs the other side
// no more than the handshake timeout; when a handshake fails the queue pair is
// back in RESET.
//
// A message is its length (four bytes, big endian, at most MaxMessage) and
// that many bytes of JSON, with a magic word and a version. All that a peer
// says is checked before it is used.
//
// Package cm connects programs without TCP and together with standard peers, and
// is what they use by default. This package stays for those that cannot use queue
// pair 1, because another owner on the device has it or the network between does
// not carry it, and for those that want messages of their own beside the queue
// pair and news of the peer's death.
//
// Messages are neither encrypted nor authenticated, like the RoCEv2 packets
// whose keys they carry: use it in networks that you trust.
package oob
