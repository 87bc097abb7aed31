package traffic

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"
)

// Kind is a way to send.
type Kind string

// The kinds.
const (
	MP    Kind = "mp"    // braid, one multi-path queue pair
	RC    Kind = "rc"    // braid, one standard queue pair with DCQCN
	TCP   Kind = "tcp"   // the kernel, one connection
	MPTCP Kind = "mptcp" // the kernel, one connection with a subflow on each path

	// Bundle is braid, one connection over several RC queue pairs (package bundle).
	Bundle Kind = "bundle"
)

// Kinds lists the kinds that all trials compare, in the order of tables; Bundle has
// trials of its own.
var Kinds = []Kind{MP, RC, TCP, MPTCP}

func (k Kind) known() bool { return k == Bundle || slices.Contains(Kinds, k) }

// ParseKind finds a kind by name.
func ParseKind(name string) (Kind, error) {
	if !Kind(name).known() {
		return "", fmt.Errorf("%w: kind %q: use one of %v", ErrSpec, name, Kinds)
	}
	return Kind(name), nil
}

// rdma says whether braid carries the traffic.
func (k Kind) rdma() bool { return k == MP || k == RC }

// Title is the name for tables and plots.
func (k Kind) Title() string {
	switch k {
	case MP:
		return "braid MP"
	case RC:
		return "braid RC"
	case TCP:
		return "TCP"
	case MPTCP:
		return "MPTCP"
	case Bundle:
		return "braid bundle"
	}
	return string(k)
}

// Limits of a specification.
const (
	maxSize  = 16 << 20
	maxDepth = 4096
	minSize  = 64
)

// Errors that can be told apart with errors.Is.
var (
	// ErrSpec means that traffic cannot be sent as asked.
	ErrSpec = errors.New("invalid traffic")
	// ErrAgent means that one of a flow's processes failed or ended early.
	ErrAgent = errors.New("traffic process failed")
)

// Spec says what one end of a flow is to do.
type Spec struct {
	Kind Kind `json:"kind"`
	// Local is the address to send from or to receive at.
	Local netip.Addr `json:"local"`
	Size  int        `json:"size"`  // bytes of a message; default 64 KiB
	Depth int        `json:"depth"` // messages on the way at a time; default 64
	// Paths is how many virtual paths (source ports) an MP queue pair spreads
	// over; 0: the default of the device. The kernel hashes them onto its paths, so
	// there are to be many more than those.
	Paths int `json:"paths"`
	// LineRate is where DCQCN starts, in b/s; default 1 Gb/s.
	LineRate int64 `json:"line_rate"`
	// Control is the congestion control of TCP and MPTCP; empty: the kernel's
	// default.
	Control string `json:"control,omitempty"`

	// Pause makes each message go alone, and waits so long after it; the times that
	// messages took are reported. Of braid's kinds only.
	Pause time.Duration `json:"pause,omitempty"`
	// Count, if not zero, is how many messages are sent; those that go alone.
	Count uint64 `json:"count,omitempty"`
	// Interval, if not zero, lets a message go so often, whether or not more could.
	Interval time.Duration `json:"interval,omitempty"`

	// Of Bundle: how many queue pairs, of what chunks, how many chunks of each are under
	// way (0: the defaults), and the receiver's addresses, one for each path. Without
	// addresses each queue pair has a source port of its own.
	QueuePairs int          `json:"queue_pairs,omitempty"`
	Chunk      int          `json:"chunk,omitempty"`
	Chunks     int          `json:"chunks,omitempty"`
	Addresses  []netip.Addr `json:"addresses,omitempty"`
	// Window is the congestion avoidance: "paper" or "pace"; empty: none.
	Window string `json:"window,omitempty"`

	// Offer makes both ends of an MP or RC flow offer a socket to operators, labelled role=sender or role=receiver.
	Offer bool `json:"offer,omitempty"`
}

// withDefaults fills in what is left at zero.
func (s Spec) withDefaults() Spec {
	orDefault(&s.Size, 64<<10)
	orDefault(&s.Depth, 64)
	orDefault(&s.LineRate, 1_000_000_000)
	return s
}

func orDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func (s *Spec) check() error {
	switch {
	case !s.Kind.known():
		return fmt.Errorf("%w: kind %q: use one of %v", ErrSpec, s.Kind, Kinds)
	case !s.Local.Is4():
		return fmt.Errorf("%w: local address %v", ErrSpec, s.Local)
	case s.Size < minSize || s.Size > maxSize:
		return fmt.Errorf("%w: size %d: use %d to %d", ErrSpec, s.Size, minSize, maxSize)
	case s.Depth < 1 || s.Depth > maxDepth:
		return fmt.Errorf("%w: depth %d: use 1 to %d", ErrSpec, s.Depth, maxDepth)
	case s.Paths < 0 || s.LineRate < 1:
		return fmt.Errorf("%w: %d paths at %d b/s", ErrSpec, s.Paths, s.LineRate)
	}
	return nil
}
