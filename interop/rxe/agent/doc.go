// Package agent runs commands in a virtual machine on behalf of a program
// outside of it.
//
//	outside                                   inside
//	Dial ── TCP connection per command ─────> Serve
//	Start ── request: arguments ────────────>   the command starts
//	Write ── frames of its standard input ──>
//	      <── frames of its output ──────────
//	Wait  <── frame of its exit status ──────   the command has ended
//
// A connection carries one command, so commands run side by side and the end of
// a connection is the end of its command: nothing keeps running that nobody
// waits for. Whoever reaches the port may run anything, so the network that
// leads to it has to end at the virtual machine.
package agent
