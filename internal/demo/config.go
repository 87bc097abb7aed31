package demo

import (
	"errors"
	"fmt"
	"time"

	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

const (
	// chunkSize is the size of a message. At several Gb/s a chunk completes
	// every few dozen microseconds, so pauses are seen at a fine grain.
	chunkSize = 64 << 10
	// maxDepth is how many chunks are under way: twice the largest window of a
	// connection.
	maxDepth = 64

	minSize = 16 * chunkSize
	maxSize = 1 << 30

	minPaths = 2
	// graceForShare is how long the stream goes on if the restored path has not
	// yet regained its share when the time is over.
	graceForShare = 5 * time.Second
)

// ErrConfig is a demonstration that cannot be given as asked.
var ErrConfig = errors.New("invalid demonstration")

// Config says what to show. Zero values stand for the defaults.
type Config struct {
	Paths    int              // default 4
	Size     int              // bytes of the region; default 16 MiB; rounded up to chunks
	Duration time.Duration    // of the stream; default 6 s: a third whole, a third cut, a third restored
	CutPath  int              // the path that fails; default 0, the first
	Policy   string           // name of a path policy; default: that of the transport
	CC       string           // name of a congestion control; default: that of the transport
	Trace    transport.Tracer // receives the events of the requester's queue pair; may be nil
}

// WithDefaults fills in what is left at zero.
func (c Config) WithDefaults() Config {
	if c.Paths == 0 {
		c.Paths = 4
	}
	if c.Size == 0 {
		c.Size = 16 << 20
	}
	c.Size = (c.Size + chunkSize - 1) / chunkSize * chunkSize
	if c.Duration == 0 {
		c.Duration = 6 * time.Second
	}
	return c
}

// Check refuses what cannot be shown.
func (c *Config) Check() error {
	switch {
	case c.Paths < minPaths || c.Paths > transport.MaxPaths:
		return fmt.Errorf("%w: %d paths: use %d to %d", ErrConfig, c.Paths, minPaths, transport.MaxPaths)
	case c.Size < minSize || c.Size > maxSize:
		return fmt.Errorf("%w: %d bytes: use %d to %d", ErrConfig, c.Size, minSize, maxSize)
	case c.Duration < 300*time.Millisecond || c.Duration > time.Hour:
		return fmt.Errorf("%w: duration %v: use 300ms to 1h", ErrConfig, c.Duration)
	case c.CutPath < 0 || c.CutPath >= c.Paths:
		return fmt.Errorf("%w: path %d to cut: there are paths 0 to %d", ErrConfig, c.CutPath, c.Paths-1)
	}
	if _, err := c.queuePairOptions(); err != nil {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return nil
}

// queuePairOptions are those of the requester, which sends nearly all of the data.
func (c *Config) queuePairOptions() (verbs.QPOptions, error) {
	o := queuePairOptions(c.Paths)
	o.Trace = c.Trace
	return o, o.MP.Choose(c.Policy, c.CC)
}

func (c *Config) slots() int { return c.Size / chunkSize }

// depth is how many chunks may be under way: never so many that all slots are,
// or credit could come only after a pause.
func (c *Config) depth() int { return min(maxDepth, c.slots()/2) }

// Opener opens a device with a number of paths at a free loopback address.
type Opener func(paths int) (*verbs.Device, error)

// Faults makes a path fail silently, in both directions, and heals it.
type Faults interface {
	Cut(path int)
	Restore(path int)
}

// queuePairOptions are those of both ends; the link adds its completion queue.
func queuePairOptions(paths int) verbs.QPOptions {
	return verbs.QPOptions{
		Type: verbs.MP, SendDepth: queueDepth, RecvDepth: queueDepth,
		Conn: verbs.ConnOptions{Paths: paths},
	}
}

// queueDepth is that of every queue, with room for everything that either end
// has under way; the completion queue holds both queues' completions.
const queueDepth = 4 * maxDepth
