package session

import (
	"fmt"
	"math"
	"time"

	"github.com/braid-rdma/braid/internal/fifo"
)

// Never is later than every instant.
const Never time.Duration = math.MaxInt64

// Counters of a session.
type Counters struct {
	Sent, Received       uint64 // messages
	SentBytes            uint64 // of their payload
	ReceivedBytes        uint64
	Acknowledged         uint64 // of those sent, received by the peer's application
	Acks, Nops           uint64 // control frames sent: those that only tell, and those that ask the peer to tell
	Blocked              uint64 // times that the peer's window was closed
	Fetched              uint64 // bytes of large messages
	Calls, Failures      uint64 // begun by us; of them failed by the peer
	ControlFramesArrived uint64
}

// Session is one end of a channel. Times are those since a moment of the driver's choice.
type Session struct {
	cfg   Config
	tx    sender
	rx    receiver
	calls openCalls // ours
	count Counters

	lastCall uint32
	bundle   int    // the longest frame with several messages
	more     []*Out // of the last such frame, for PollFrame
	arriving []byte // the rest of one that has arrived
	// What the peer was told by the last frame.
	toldTaken counts
	toldEdge  uint64
	toldEcho  uint8
	// Control frames sent, of those known to have been received, and received; modulo 4.
	controlSent, controlEchoed, controlSeen uint8
	ackNow                                  bool // the peer asked, or waits for memory
	readNow                                 bool // the same, and only the bitmap of a control frame tells it
	nopDue                                  bool

	ackAt, nopAt time.Duration
}

// New makes a session. It may send once the peer's first frame has said how much, or
// after Grant.
func New(cfg Config) *Session {
	s := &Session{cfg: cfg.withDefaults(), ackAt: Never, nopAt: Never}
	s.rx.target = s.cfg.MinWindow
	return s
}

// Grant opens the peer's first window, which the handshake has told.
func (s *Session) Grant(messages int) {
	s.tx.edge = max(s.tx.edge, uint64(min(messages, maxWindow)))
}

// Granted is the first window of the peer, for the handshake: what the receives that were posted
// allow.
func (s *Session) Granted() int {
	s.toldEdge = s.rx.edge
	return int(s.rx.edge)
}

// Counters returns what has happened so far. They go on counting.
func (s *Session) Counters() *Counters {
	s.count.Acknowledged = s.tx.acked.sum()
	return &s.count
}

// Send queues a message.
func (s *Session) Send(now time.Duration, m *Out) {
	if m.Kind == Request {
		s.lastCall++
		m.Call = s.lastCall
		s.calls.add(m)
		s.count.Calls++
	}
	s.tx.add(m)
	s.watchWindow(now)
}

// Withdraw takes back a message that was not sent yet. It returns false if it was: a call is
// then abandoned, and what comes of it is not delivered.
func (s *Session) Withdraw(now time.Duration, m *Out) bool {
	m.abandoned = true
	if !s.tx.withdraw(m) {
		return false
	}
	if m.Kind == Request {
		s.calls.remove(m)
	}
	s.watchWindow(now)
	return true
}

// End visits what has become of nothing: messages that are not acknowledged, calls without
// a response, of which a message may be one, and messages that arrived, perhaps in part, and were not
// delivered. The session is not used any more.
func (s *Session) End(message, call func(*Out), arrived func(*In)) {
	for _, q := range []*fifo.Queue[*Out]{&s.tx.done, &s.tx.unacked[prompt], &s.tx.unacked[late], &s.tx.responses, &s.tx.cancels, &s.tx.queue} {
		for m, ok := q.Pop(); ok; m, ok = q.Pop() {
			message(m)
		}
	}
	for _, m := range s.calls.takeAll() {
		call(m)
	}
	for q := range s.rx.window {
		for m, ok := s.rx.window[q].Pop(); ok; m, ok = s.rx.window[q].Pop() {
			if !m.delivered {
				arrived(m)
			}
		}
	}
}

// Queued returns how many messages have not been sent: they wait for the peer's window.
func (s *Session) Queued() int { return s.tx.unsent() }

// Unacknowledged returns how many were sent that the peer's application has not received.
func (s *Session) Unacknowledged() int { return s.tx.unacknowledged() }

// Unfinished returns how many messages PollAcked has not returned and nobody has withdrawn.
func (s *Session) Unfinished() int {
	return s.tx.done.Len() + s.tx.unacknowledged() + s.tx.unsent()
}

// Window is where the windows of both directions stand, in messages.
type Window struct {
	Sendable       int // that the peer would take now
	Unacknowledged int // sent, and the peer's application does not have them
	Granted        int // that the peer may send now
	Held           int // arrived, and the application does not have them
	Calls          int // ours, without a response
}

// Window returns where the windows stand.
func (s *Session) Window() Window {
	return Window{
		Sendable: int(s.tx.edge - s.tx.windowed), Unacknowledged: s.tx.unacknowledged(),
		Granted: s.rx.granted(), Held: s.rx.held, Calls: s.calls.count,
	}
}

// AskForAck makes the peer tell what its application has received, so that who waits
// for that does not wait for the peer's delay.
func (s *Session) AskForAck() { s.nopDue = s.nopDue || s.tx.unacknowledged() > 0 }

// Wanted returns how many receives are to be posted; Posted tells that some were. Whoever makes calls has one in
// advance, for the response to the next.
func (s *Session) Wanted() int {
	calls := s.calls.count - s.rx.owed // that are not sent yet
	if s.count.Calls > 0 {
		calls++
	}
	return s.rx.wanted(min(calls, s.cfg.MaxCalls-s.rx.owed))
}

// Pressed says whether what is Wanted should be there before the next frame: calls that could go with it wait for receives for their
// responses, or the peer has used more than one place of its window. Else it can be posted when frames have gone, for the next ones to tell of.
func (s *Session) Pressed() bool {
	return s.calls.count-s.rx.owed > s.rx.spare() || s.rx.target-s.rx.held-s.rx.granted() > 1
}

// Posted notes receives that wait for frames.
func (s *Session) Posted(receives int) {
	s.rx.posted += receives
	s.rx.open()
}

// Arrived takes a frame. It returns whether the frame begins or holds a message, which
// is then m: otherwise the receive's buffer is free. There may be others in it, see Next. An error is the
// peer's fault and ends the channel.
func (s *Session) Arrived(now time.Duration, imm uint32, frame []byte, m *In) (bool, error) {
	s.rx.posted--
	i := immediate(imm)
	if err := s.tx.handle(now, i); err != nil {
		return false, err
	}
	if (s.controlSent-i.echo())&3 > (s.controlSent-s.controlEchoed)&3 {
		return false, fmt.Errorf("%w: more control frames are received than were sent", ErrPeer)
	}
	s.controlEchoed = i.echo()
	s.watchWindow(now)
	switch kind := i.kind(); {
	case kind.isControl():
		return false, s.handleControl(now, i, frame)
	case kind == frameBare:
		m.Kind, m.Length, m.Payload = Oneway, len(frame), frame
		return true, s.receive(m)
	case kind == frameHeaded:
		return true, s.handleHeaded(frame, m)
	case kind == frameBundle && len(frame) > 0: // else it would need no place in the window, and be told of to nobody
		s.arriving = frame
		return s.Next(m)
	}
	return false, fmt.Errorf("%w: a frame of kind %d", ErrPeer, i.kind())
}

func (s *Session) handleControl(now time.Duration, i immediate, frame []byte) error {
	if err := s.tx.handleLate(now, frame); err != nil {
		return err
	}
	if (s.controlSeen-s.toldEcho)&3 == Reserve {
		return fmt.Errorf("%w: more control frames than it has room for", ErrPeer)
	}
	s.controlSeen++
	s.count.ControlFramesArrived++
	s.ackNow = s.ackNow || i.kind() == frameNop
	return nil
}

func (s *Session) handleHeaded(frame []byte, m *In) error {
	var h header
	rest, err := h.parse(frame, &m.told)
	if err != nil {
		return err
	}
	m.Kind, m.Call, m.Length, m.Payload, m.Trace = h.kind, h.call, len(rest), rest, h.trace
	if h.large {
		m.Length, m.Payload, m.Source, m.large, m.remote = int(h.length), nil, h.source, true, true
	}
	if m.Length > s.cfg.MaxMessage { // before the call is taken from those that End visits
		return s.tooLong(m)
	}
	if m.Kind == Response || m.Kind == Failure {
		if err := s.endCall(m); err != nil {
			return err
		}
	}
	return s.receive(m)
}

// endCall finds the call that a response is to.
func (s *Session) endCall(m *In) error {
	if m.Request = s.calls.find(m.Call); m.Request == nil || !m.Request.sent {
		return fmt.Errorf("%w: a response to call %d, which was not made", ErrPeer, m.Call)
	}
	s.calls.remove(m.Request)
	s.rx.owed--
	if m.Kind == Failure {
		s.count.Failures++
	}
	if m.Request.abandoned && m.large {
		m.large, m.Length = false, 0 // nobody wants it: it is not fetched
		s.readNow = true
	}
	return nil
}

func (s *Session) tooLong(m *In) error {
	return fmt.Errorf("%w: a message of %d bytes, at most %d are taken", ErrPeer, m.Length, s.cfg.MaxMessage)
}

// receive takes a message, and widens the window if the peer has used all of it that it knows.
func (s *Session) receive(m *In) error {
	if m.Length > s.cfg.MaxMessage {
		return s.tooLong(m)
	}
	if err := s.rx.add(m); err != nil {
		return err
	}
	s.count.Received++
	if m.Kind == Cancel {
		s.rx.cancel(m.Call)
	}
	s.count.ReceivedBytes += uint64(m.Length)
	if !m.Kind.IsResponse() && s.rx.windowed >= s.toldEdge {
		s.rx.target = min(2*s.rx.target, s.cfg.MaxWindow)
	}
	return nil
}

// PollDelivery returns the next message for the application.
func (s *Session) PollDelivery() (*In, bool) {
	m, ok := s.rx.deliveries.Pop()
	if ok {
		m.delivered = true
	}
	return m, ok
}

// Taken notes that the application has received a message. A large one's memory is
// the peer's until it is told.
func (s *Session) Taken(now time.Duration, m *In) {
	s.ackNow = s.ackNow || m.large
	s.rx.take(m)
	if s.untold() > 0 && s.ackAt == Never {
		s.ackAt = now + s.cfg.AckDelay
	}
}

// Fetch is a READ to post: Length bytes of a large message, at Offset.
type Fetch struct {
	Message        *In
	Offset, Length int
}

// NextFetch returns the message that PollFetch goes on with. The messages of a session are
// fetched in order.
func (s *Session) NextFetch() (*In, bool) {
	if s.rx.fetches.Len() == 0 {
		return nil, false
	}
	return s.rx.fetches.At(0), true
}

// SkipFetch lets the first response pass messages before it of which nothing was asked for. It returns whether there
// is one.
func (s *Session) SkipFetch() bool {
	if m, ok := s.NextFetch(); !ok || m.Kind.IsResponse() || m.asked > 0 {
		return ok && m.Kind.IsResponse()
	}
	for i := range s.rx.fetches.Len() {
		if m := s.rx.fetches.At(i); m.Kind.IsResponse() {
			var rest fifo.Queue[*In]
			rest.Push(m)
			for other, ok := s.rx.fetches.Pop(); ok; other, ok = s.rx.fetches.Pop() {
				if other != m {
					rest.Push(other)
				}
			}
			s.rx.fetches = rest
			return true
		}
	}
	return false
}

// PollFetch returns the next READ, of so many bytes at most.
func (s *Session) PollFetch(most int) (Fetch, bool) {
	m, ok := s.NextFetch()
	if !ok {
		return Fetch{}, false
	}
	f := Fetch{Message: m, Offset: m.asked, Length: min(most, m.Length-m.asked)}
	if m.asked += f.Length; m.asked == m.Length {
		s.rx.fetches.Pop()
	}
	return f, true
}

// Fetched notes bytes that a READ has brought.
func (s *Session) Fetched(m *In, bytes int) {
	m.fetched += bytes
	s.count.Fetched += uint64(bytes)
	if m.Complete() {
		s.readNow = true // its memory is the peer's to use again
		s.rx.deliver(m)
	}
}

// PollRead returns a large message that the peer has read: its memory may be used again.
func (s *Session) PollRead() (*Out, bool) { return s.tx.read.Pop() }

// PollAcked returns a message that the peer's application has received.
func (s *Session) PollAcked() (*Out, bool) { return s.tx.done.Pop() }

// Frame is a SEND to post: the header, then the payload of Message unless it is large. If there are
// More it is a bundle instead: of Message and of each of them what AppendEntry adds, then the payload.
type Frame struct {
	Immediate uint32
	Header    []byte
	Message   *Out   // nil: a control frame
	More      []*Out // valid until the next call
	Last      bool   // no message waits that could go next
}

// mayCall says whether a request may go: there is a receive for its response.
func (s *Session) mayCall() bool { return s.rx.owed < s.cfg.MaxCalls && s.rx.spare() > 0 }

// take takes the next message to send, or nil.
func (s *Session) take(now time.Duration) *Out {
	m := s.tx.next(s.mayCall())
	if m == nil {
		return nil
	}
	s.count.Sent++
	s.count.SentBytes += uint64(m.Length)
	m.sent, m.SentAt = true, now
	if m.Kind == Request {
		s.rx.owed++
	}
	if m.Trace != nil {
		m.Trace.Posted = s.cfg.Epoch + now
	}
	return m
}

// PollFrame returns the next frame; its header is appended to b. Messages go before control
// frames, because they say the same.
func (s *Session) PollFrame(now time.Duration, b []byte) (Frame, bool) {
	if m := s.take(now); m != nil {
		more, last := s.collect(now, m)
		s.watchWindow(now)
		kind := frameBare
		switch {
		case len(more) > 0:
			kind = frameBundle
		case m.Kind != Oneway || m.Large || m.Trace != nil:
			kind = frameHeaded
			b = m.header().append(b)
		}
		return Frame{Immediate: s.news(kind), Header: b, Message: m, More: more, Last: last}, true
	}
	kind, ok := s.controlDue()
	if !ok {
		return Frame{}, false
	}
	s.controlSent++
	s.readNow = false
	return Frame{Immediate: s.news(kind), Header: s.rx.appendLate(b)}, true
}

// controlDue says which control frame is to go now. Two may be on their way; a third
// only to tell a peer that has sent two that they have been received, or both sides could wait
// for each other.
func (s *Session) controlDue() (frameKind, bool) {
	outstanding := (s.controlSent - s.controlEchoed) & 3
	mustEcho := (s.controlSeen-s.toldEcho)&3 >= 2
	switch {
	case outstanding >= Reserve, outstanding == Reserve-1 && !mustEcho:
		return 0, false
	case s.nopDue:
		s.nopDue = false
		s.count.Nops++
		return frameNop, true
	case mustEcho || s.ackDue():
		s.count.Acks++
		return frameAck, true
	}
	return 0, false
}

// ackDue says whether the peer is to be told what it does not know.
func (s *Session) ackDue() bool {
	grown := s.rx.edge - s.toldEdge
	return s.ackNow || s.readNow && s.rx.hasRead() ||
		s.untold() >= uint64(s.cfg.AckEvery) ||
		grown > 0 && s.rx.windowed >= s.toldEdge || // it waits
		grown >= uint64(max(1, s.rx.target/2))
}

// untold is how many messages the application has received that the peer does not know of.
func (s *Session) untold() uint64 { return s.rx.taken.sum() - s.toldTaken.sum() }

// news is the immediate data of a frame that goes now. It has room for one of the sequences: that of which
// more is to be told, and in a control frame, which has the late ones besides, the prompt ones.
func (s *Session) news(kind frameKind) uint32 {
	s.toldEdge, s.toldEcho = s.rx.edge, s.controlSeen
	q := prompt
	if kind.isControl() {
		s.toldTaken[late] = s.rx.taken[late]
	} else if s.rx.taken[late]-s.toldTaken[late] > s.rx.taken[prompt]-s.toldTaken[prompt] {
		q = late
	}
	s.toldTaken[q] = s.rx.taken[q]
	if s.untold() == 0 {
		s.ackNow, s.ackAt = false, Never
	}
	return uint32(makeImmediate(kind, s.controlSeen, s.rx.edge, q, s.rx.taken[q]))
}

// watchWindow keeps the time since which messages have waited for the peer's window.
func (s *Session) watchWindow(now time.Duration) {
	switch {
	case !s.tx.blocked():
		s.nopAt = Never
	case s.nopAt == Never:
		s.count.Blocked++
		s.nopAt = now + s.cfg.NopAfter
	}
}

// Timeout is when HandleTimeout wants to be called.
func (s *Session) Timeout() time.Duration { return min(s.ackAt, s.nopAt) }

// HandleTimeout does what is due.
func (s *Session) HandleTimeout(now time.Duration) {
	if s.ackAt <= now {
		s.ackAt = Never
		s.ackNow = true
	}
	if s.nopAt <= now {
		s.nopAt = now + s.cfg.NopAfter
		s.nopDue = true
	}
}
