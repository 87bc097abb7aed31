// Package qlog writes the trace events of queue pairs to a file, in the manner
// of qlog (draft-ietf-quic-qlog-main-schema): a line of JSON for each event.
//
// The first line is a header with the version of the schema. Each line after it
// is an event:
//
//	{"time":1200,"dev":"h0","qpn":"0x000011","name":"packet_sent","opcode":"RC_SEND_ONLY","psn":7,"path":0,"bytes":64}
//
// Events come from the middle of an engine's loop. There they are only encoded
// into memory; a goroutine writes to the file. When the file is too slow, events
// are dropped and counted rather than packets delayed, unless the clock of the
// engine is a simulated one and can wait.
package qlog
