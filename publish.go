package braid

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/braid-rdma/braid/internal/statfile"
	"github.com/braid-rdma/braid/verbs"
)

// Statistics for other processes (X-RDMA §VI-B, XR-Stat): the owner of the context stores them in shared memory
// whenever it has done something. Published reads them.

// contextRecord is what is published of a context.
type contextRecord struct {
	PID    int `stat:"gauge"`
	Number int `stat:"gauge"` // of the contexts of a process
	ContextStats
	Opened     int64    `stat:"time"`
	LastActive int64    `stat:"time"`
	Program    [64]byte `stat:"text"`
}

// channelRecord is what is published of a channel.
type channelRecord struct {
	Generation uint64 `stat:"-"`
	Stats
	Opened     int64    `stat:"time"`
	LastActive int64    `stat:"time"` // when a message or acknowledgement was last sent or received
	State      [8]byte  `stat:"text"`
	Carrier    [8]byte  `stat:"text"`
	Local      [64]byte `stat:"text"`
	Peer       [64]byte `stat:"text"`
}

// States of a channel that is published.
var (
	stateOpen    = [8]byte{'o', 'p', 'e', 'n'}
	stateClosing = [8]byte{'c', 'l', 'o', 's', 'i', 'n', 'g'}
	stateEnded   = [8]byte{'e', 'n', 'd', 'e', 'd'}
)

// transportInterval is how often the queue pair of a channel that is used is asked, at most.
const transportInterval = 100 * time.Millisecond

// publication is the file of a context. It belongs to the owner.
type publication struct {
	file   *statfile.File
	record *contextRecord // nil: nothing is published
	epoch  int64          // the zero of the device's clock, in nanoseconds since 1970
	err    error          // why it, or a part of it, is not published
}

// contexts counts those that the process has opened.
var contexts atomic.Int64

var errNoStats = errors.New("Config.NoStats")

// StatsFile is where the statistics of the context are published for other processes. An error says why they are not, or not
// all of them; it is no reason not to use the context.
func (c *Context) StatsFile() (path string, err error) {
	c.exclusive(func() {
		if c.publication.record != nil {
			path = c.publication.file.Path()
		}
		err = c.publication.err
	})
	if err != nil {
		err = fmt.Errorf("braid: statistics are not published: %w", err)
	}
	return path, err
}

// beginPublishing makes the file.
func (c *Context) beginPublishing() {
	p := &c.publication
	number := int(contexts.Add(1))
	if c.cfg.NoStats || c.runtime.Virtual() {
		p.err = errNoStats
		return
	}
	if p.file, p.err = statfile.Create(statfile.Dirs(), number, reflect.TypeFor[contextRecord](), reflect.TypeFor[channelRecord]()); p.err != nil {
		return
	}
	p.record = (*contextRecord)(p.file.Context())
	p.epoch = time.Now().UnixNano() - int64(c.now())
	p.record.PID, p.record.Number, p.record.Opened = os.Getpid(), number, time.Now().UnixNano()
	copy(p.record.Program[:], statfile.Program())
	c.publish()
}

// endPublishing removes the file.
func (c *Context) endPublishing() {
	c.exclusive(func() {
		for _, ch := range c.channels {
			if ch != nil {
				ch.record = nil
			}
		}
		if p := &c.publication; p.record != nil {
			p.record, p.err = nil, fmt.Errorf("%w: context", ErrClosed)
			p.file.Close()
		}
	})
}

// publish stores what the context has.
func (c *Context) publish() {
	if r := c.publication.record; r != nil {
		c.count(&r.ContextStats)
	}
}

// beginPublishing gives the channel a record.
func (ch *Channel) beginPublishing() {
	c := ch.context
	p := &c.publication
	if p.record == nil {
		return
	}
	record, err := p.file.Channel(int(ch.number))
	if err != nil {
		if p.err == nil { // the first is enough
			p.err = fmt.Errorf("channel %d: %w", ch.number, err)
		}
		return
	}
	r := (*channelRecord)(record)
	now := c.now()
	r.Opened, r.State = p.epoch+int64(now), stateOpen
	ch.conn.LocalAddr().AppendTo(r.Local[:0])
	ch.conn.RemoteAddr().AppendTo(r.Peer[:0])
	ch.record = r
	ch.publishCarrier()
	ch.publish(now)
	statfile.Publish(record)
}

// carrier is the word for what moves the messages of the channel.
func (ch *Channel) carrier() string {
	switch {
	case ch.samples.fallback.onTCP:
		return "tcp"
	case ch.qp.Type() == verbs.MP:
		return "mp"
	}
	return "rc"
}

// publish stores what the channel has done.
func (ch *Channel) publish(now time.Duration) {
	r := ch.record
	if r == nil {
		return
	}
	before := r.Sent + r.Received + r.Acks + r.Acknowledged
	ch.count(&r.Stats)
	at := ch.context.publication.epoch + int64(now)
	if r.LastActive == 0 || before != r.Sent+r.Received+r.Acks+r.Acknowledged {
		r.LastActive = at
		ch.context.publication.record.LastActive = at
	}
	if now >= ch.samples.next {
		ch.samples.next = now + transportInterval
		ch.samples.take(ch)
		ch.samples.store(&r.Stats)
		ch.publishCarrier()
	}
}

func (ch *Channel) publishState(state [8]byte) {
	if ch.record != nil {
		ch.record.State = state
	}
}

// publishCarrier tells what moves the messages.
func (ch *Channel) publishCarrier() {
	var word [8]byte // stored at once
	copy(word[:], ch.carrier())
	ch.record.Carrier = word
}

// unpublish ends the record.
func (ch *Channel) unpublish() {
	if ch.record != nil {
		statfile.Withdraw(unsafe.Pointer(ch.record))
		ch.record = nil
	}
}
