package transport

// What engines and verbs can do with some queue pairs beyond QP, or have to do for them. A QP is asked for
// each by a type assertion.

// MultiPath is a queue pair that has paths and a window to choose.
type MultiPath interface {
	QP
	// Options are the parameters that it runs with.
	Options() MPOptions
	// Flow is the present state of window and round trip.
	Flow() Flow
	// SetPolicy and SetCongestionControl take effect with the next packet.
	SetPolicy(p PathPolicy)
	SetCongestionControl(c CongestionControl)
}

// SinglePath is a queue pair whose packets all take one path.
type SinglePath interface {
	QP
	// FixedPath is the path that it asks for; ok is false if the engine chooses.
	FixedPath() (path Path, ok bool)
}

// Unacknowledged is a queue pair whose requests complete when they have been sent. The program may
// use their memory again from then on, so an engine hands the payload over before it delivers completions.
type Unacknowledged interface {
	QP
	CompletesWhenSent()
}

var (
	_ MultiPath      = (*MP)(nil)
	_ SinglePath     = (*RC)(nil)
	_ Unacknowledged = (*UD)(nil)
)
