package transport

// State is the state of a queue pair (IBTA vol. 1, 10.3.1).
type State uint8

// The states, in the order of a queue pair's life.
const (
	Reset State = iota
	Init
	RTR // ready to receive
	RTS // ready to send
	SQD // send queue drains: nothing new is started
	SQE // send queue in error: receiving goes on (datagrams only)
	Err
)

var stateNames = [...]string{"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"}

func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return "UNKNOWN"
}

// MayMove is the table of transitions that Modify allows. Every state may go
// to RESET and to ERR.
func (s State) MayMove(to State) bool {
	switch {
	case to == Reset || to == Err:
		return true
	case s == Reset:
		return to == Init
	case s == Init:
		return to == Init || to == RTR
	case s == RTR:
		return to == RTS
	case s == RTS:
		return to == RTS || to == SQD
	case s == SQD:
		return to == RTS || to == SQD
	case s == SQE:
		return to == RTS
	}
	return false
}

// receives says whether packets for a queue pair in this state are processed.
func (s State) receives() bool { return s == RTR || s == RTS || s == SQD || s == SQE }

// sends says whether the requester of a queue pair in this state may transmit.
func (s State) sends() bool { return s == RTS || s == SQD }
