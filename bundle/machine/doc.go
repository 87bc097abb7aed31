// Package machine decides what a bundle's queue pairs do: it cuts requests into
// sub-requests, gives each to a lane, and makes one completion of their outcomes.
// It is a state machine without I/O, clock or goroutine. A lane is one of the
// connection's queue pairs, by its index, through all its re-establishments.
//
//	Post, PostReceive          what the program wants
//	HandleDone, HandleHeader   what completed, what the peer told
//	HandleUp, HandleDown, HandleFenced
//	PollWork                   sub-requests to post, each on a lane
//	PollCompletion             requests that are done, in the order of their posting
//
// The caller handles what happened, then polls work until there is none, then
// completions. Each Work is reported by HandleDone exactly once.
//
// # What may be repeated, and when
//
// A sub-request whose queue pair broke may have had its effect or not, and its
// packets may still be under way. READs write memory on this side only: they are
// repeated once this side's queue pair is closed (HandleDown). WRITEs change the
// peer's memory: they are repeated only when the peer has closed its end too
// (HandleFenced), since a late packet could otherwise overwrite newer data. Until
// then the program is not told that the request is done; nor that it has failed, if
// this side has ended it in the middle. Messages to the peer
// (Header) are numbered, and the peer drops what it has had; they wait for
// HandleDown only; so do the chunks of a two-sided SEND. A WRITE into a receiver's buffer is never repeated after the
// receiver was told that the message is whole, because all of them are complete
// before it is told.
package machine
