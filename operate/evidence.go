package operate

import (
	"encoding/json"
	"net/netip"
	"time"
)

// Evidence is what was seen of a program in some time: enough to say what limits its transfers.
type Evidence struct {
	Schema     int               `json:"schema"`
	Program    Identity          `json:"program"`
	Took       time.Duration     `json:"took_ns"`
	Samples    int               `json:"samples"` // of what each queue pair waited for
	Host       Host              `json:"host"`
	Device     map[string]uint64 `json:"device,omitempty"` // growth of the engine's counters
	QueuePairs []QueuePair       `json:"queue_pairs"`
	Left       int               `json:"left_out,omitempty"` // queue pairs that did something and are too many
	Context    *Context          `json:"context,omitempty"`  // nil: a program of package verbs
}

// Host is how busy the machine was.
type Host struct {
	Processors int           `json:"processors"`
	Busy       float64       `json:"busy"`   // share of the processors' time that was used, by whomever
	Stolen     float64       `json:"stolen"` // share that the hypervisor gave to other machines
	Own        time.Duration `json:"own_ns"` // processor time of the program
	// Delayed is how long threads of the program were ready and waited for a processor, summed up.
	Delayed time.Duration `json:"delayed_ns"`
}

// QueuePair is what was seen of one. Counters and paths are the growth in that time.
type QueuePair struct {
	Number     uint32            `json:"number"`
	Type       string            `json:"type"`
	State      string            `json:"state"`
	Peer       netip.Addr        `json:"peer,omitzero"`
	Reasons    map[string]int    `json:"reasons"` // in how many samples it waited for what; docs/trace.md has the words
	Counters   map[string]uint64 `json:"counters"`
	Paths      []Path            `json:"paths,omitempty"`
	Window     float64           `json:"window,omitempty"` // packets, at the end
	PeerWindow int               `json:"peer_window,omitempty"`
	InFlight   int               `json:"in_flight,omitempty"`
	RTT        time.Duration     `json:"rtt_ns,omitempty"`
	MTU        int               `json:"mtu"`
	Reads      int               `json:"reads,omitempty"` // READs and atomics that may be outstanding
	Channel    *Channel          `json:"channel,omitempty"`
}

// Path is what one virtual path carried.
type Path struct {
	Index        int           `json:"index"`
	Sent         uint64        `json:"sent"` // packets
	Acknowledged uint64        `json:"acknowledged"`
	Lost         uint64        `json:"lost"`
	Marked       uint64        `json:"marked"`
	Bytes        uint64        `json:"bytes"`
	RTT          time.Duration `json:"rtt_ns"`
	Retired      bool          `json:"retired,omitempty"`
}

// Channel is what was seen of the channel of a queue pair. Shares are of its samples, which are
// fewer than those of the queue pair.
type Channel struct {
	Number       int     `json:"number"`
	OnTCP        bool    `json:"on_tcp,omitempty"`
	OnCommand    bool    `json:"on_command,omitempty"` // on TCP since it was told to be
	Samples      int     `json:"samples"`
	WindowClosed float64 `json:"window_closed"` // messages wait, and the peer takes none
	Unread       float64 `json:"unread"`        // messages have arrived and the application has not taken them
	OpenCalls    float64 `json:"open_calls"`    // calls wait for a response
	CallsFull    float64 `json:"calls_full"`    // as many as are allowed
	HandlersFull float64 `json:"handlers_full"` // handlers have as many messages as are allowed
	Reads        float64 `json:"reads"`         // READs for large messages, or one-sided operations, are on their way
	Sent         uint64  `json:"sent"`          // messages
	Received     uint64  `json:"received"`
	Peer         string  `json:"peer"`
}

// Context is what was seen of the middleware beyond its channels.
type Context struct {
	MemoryFull float64 `json:"memory_full"` // share of samples in which large messages waited for memory
	Waiting    float64 `json:"waiting"`     // share in which messages waited for a goroutine to handle them
	// LongestPoll is the longest time without a poll of the device by whoever polls for all, if the program measures that.
	LongestPoll time.Duration `json:"longest_poll_ns,omitempty"`
	PollPlace   string        `json:"poll_place,omitempty"` // what was done instead
}

// ChannelState is a channel at one moment.
type ChannelState struct {
	Number         int
	QPN            uint32
	Peer           string
	OnTCP          bool
	OnCommand      bool // of this program or its operator
	Queued         int  // messages that wait for the peer's window
	SendWindow     int  // messages that the peer would take now
	Unread         int
	OpenCalls      int
	Handling       int
	Calls          int // how many of the last two there may be
	Reads          int
	Sent, Received uint64
}

// ContextState is a context at one moment.
type ContextState struct {
	Channels    []ChannelState
	MemoryFull  bool
	Waiting     int
	LongestPoll time.Duration
	PollPlace   string
}

// Traces are what a program has kept of the way of its messages, each as package braid writes a Trace or a Slow.
type Traces struct {
	Last    []json.RawMessage `json:"last"`    // the latest at the end
	Slowest []json.RawMessage `json:"slowest"` // the slowest first
	Slow    []json.RawMessage `json:"slow"`    // phases and polls that took too long, the latest at the end
}
