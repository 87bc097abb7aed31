package transport

// MultiPath is a queue pair that has paths and a window to choose: what engines and
// verbs can do with it beyond QP. A QP is asked for it by a type assertion.
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

var _ MultiPath = (*MP)(nil)
