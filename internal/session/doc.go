// Package session is the protocol of a channel: messages and calls over a
// connection that delivers frames in order, as X-RDMA has them (§IV-C, §V). It
// is a state machine without I/O, clock or goroutine.
//
//	Send ──> queue ──> window of the peer ──> PollFrame ──> a SEND with immediate data
//	Arrived <── a receive that completed ──> PollFetch ──> READs of a large message
//	        ──> PollDelivery ──> the application ──> Taken ──> acknowledged by the next frame
//
// A frame fills one receive of the peer. The peer says how many it has posted, so
// that none ever finds the queue empty (RNR-free, §V-B); and it says how many
// messages its application has received, which no acknowledgement of a queue pair
// can tell. Both travel in the immediate data of every frame.
package session
