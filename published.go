package braid

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"net/netip"
	"time"

	"github.com/braid-rdma/braid/internal/statfile"
)

// PublishedContext is what a process of this user publishes of one of its contexts.
type PublishedContext struct {
	Path       string // of the file
	PID        int
	Number     int // of the contexts of its process, from 1
	Program    string
	Alive      bool // the process exists; else this is how it was when it ended
	Opened     time.Time
	LastActive time.Time // when a channel last sent or received
	Read       time.Time // when this was read
	Stats      ContextStats
	Channels   []PublishedChannel // in the order of their numbers
	Other      map[string]uint64  // numbers that this version of braid does not know
}

// PublishedChannel is what is published of a channel. Each number is from one moment, but two of them may be
// from moments some microseconds apart.
type PublishedChannel struct {
	Number     int
	Generation uint64 // tells channels apart that had the same number one after the other
	State      string // open, closing or ended
	Carrier    string // what moves the messages: mp, rc or tcp
	Local      netip.AddrPort
	Peer       netip.AddrPort
	Opened     time.Time
	LastActive time.Time // when a message or acknowledgement was last sent or received
	Stats      Stats
	Other      map[string]uint64
}

// Published yields the contexts of all processes of this user that publish statistics, also those of processes that
// were killed. A file that cannot be read is an error, after which others follow.
func Published() iter.Seq2[*PublishedContext, error] {
	return func(yield func(*PublishedContext, error) bool) {
		for path, err := range statfile.List() {
			var c *PublishedContext
			if err == nil {
				if c, err = ReadPublished(path); errors.Is(err, fs.ErrNotExist) {
					continue // it was closed a moment ago
				}
			} else {
				err = fmt.Errorf("braid: statistics: %w", err)
			}
			if !yield(c, err) {
				return
			}
		}
	}
}

// ReadPublished reads the statistics of one context again; path is that of a PublishedContext, or of Context.StatsFile. An error
// that is fs.ErrNotExist says that the context was closed.
func ReadPublished(path string) (*PublishedContext, error) {
	s, err := statfile.Read(path)
	if err != nil {
		return nil, fmt.Errorf("braid: statistics: %w", err)
	}
	var r contextRecord
	c := &PublishedContext{Path: path, Alive: s.Alive, Read: time.Now(), Other: s.Context.Into(&r)}
	c.PID, c.Number, c.Program, c.Stats = r.PID, r.Number, statfile.String(r.Program[:]), r.ContextStats
	c.Opened, c.LastActive = timeOf(r.Opened), timeOf(r.LastActive)
	for _, channel := range s.Channels {
		c.Channels = append(c.Channels, publishedChannel(&channel))
	}
	return c, nil
}

func publishedChannel(s *statfile.Channel) PublishedChannel {
	var r channelRecord
	ch := PublishedChannel{Number: s.Number, Generation: s.Generation, Other: s.Into(&r)}
	ch.State, ch.Carrier, ch.Stats = statfile.String(r.State[:]), statfile.String(r.Carrier[:]), r.Stats
	ch.Opened, ch.LastActive = timeOf(r.Opened), timeOf(r.LastActive)
	ch.Local, _ = netip.ParseAddrPort(statfile.String(r.Local[:])) // zero: not said
	ch.Peer, _ = netip.ParseAddrPort(statfile.String(r.Peer[:]))
	return ch
}

func timeOf(nanoseconds int64) time.Time {
	if nanoseconds == 0 {
		return time.Time{}
	}
	return time.Unix(0, nanoseconds)
}

// Rates are what a channel does in a second.
type Rates struct {
	Sent, Received           float64 // messages
	SentBytes, ReceivedBytes float64
	Calls                    float64
}

// Rates returns what each channel has done in a second since an earlier look at the same context, in the order of
// Channels. Those of a channel that was not there, or all if earlier is nil, are since it was opened.
func (c *PublishedContext) Rates(earlier *PublishedContext) []Rates {
	type identity struct {
		number     int
		generation uint64
	}
	if earlier == nil {
		earlier = &PublishedContext{}
	}
	before := map[identity]*PublishedChannel{}
	for i := range earlier.Channels {
		ch := &earlier.Channels[i]
		before[identity{ch.Number, ch.Generation}] = ch
	}
	rates := make([]Rates, len(c.Channels))
	for i := range c.Channels {
		ch := &c.Channels[i]
		then, since := before[identity{ch.Number, ch.Generation}], earlier.Read
		if then == nil {
			then, since = &PublishedChannel{}, ch.Opened
		}
		rates[i] = ratesOf(&ch.Stats, &then.Stats, c.Read.Sub(since))
	}
	return rates
}

func ratesOf(now, then *Stats, elapsed time.Duration) Rates {
	if elapsed <= 0 {
		return Rates{}
	}
	per := func(now, then uint64) float64 {
		if now < then {
			return 0
		}
		return float64(now-then) / elapsed.Seconds()
	}
	return Rates{
		Sent: per(now.Sent, then.Sent), Received: per(now.Received, then.Received),
		SentBytes: per(now.SentBytes, then.SentBytes), ReceivedBytes: per(now.ReceivedBytes, then.ReceivedBytes),
		Calls: per(now.Calls, then.Calls),
	}
}
