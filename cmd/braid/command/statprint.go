package command

import (
	"fmt"
	"io"
	"maps"
	"text/tabwriter"
	"time"

	middleware "github.com/braid-rdma/braid"
)

// printStat prints contexts and their channels for people.
func printStat(w io.Writer, now, earlier statLook) {
	if len(now) == 0 {
		fmt.Fprintln(w, "no program of this user has a context of braid")
	}
	for i, c := range now.inOrder() {
		if i > 0 {
			fmt.Fprintln(w)
		}
		printContext(w, c, earlier[c.Path])
	}
}

func printContext(w io.Writer, c, earlier *middleware.PublishedContext) {
	state := ""
	if !c.Alive {
		state = " (dead)"
	}
	s := &c.Stats
	fmt.Fprintf(w, "%s %d%s, context %d: channels %d, listeners %d; memory: frames %s, buffers %s (unused %s), pending %s\n",
		c.Program, c.PID, state, c.Number, s.Channels, s.Listeners,
		byteCount(uint64(s.FrameBytes)), byteCount(uint64(s.BufferBytes)), byteCount(uint64(s.UnusedBytes)), byteCount(uint64(s.PendingBytes)))
	if len(c.Channels) == 0 {
		return
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "CH\tPEER\tSTATE\tVIA\tTX msg/s\tRX msg/s\tTX/s\tRX/s\tQUEUED\tUNACKED\tWINDOW\tUNREAD\tCALLS\tRTT\tRETRANS\tIDLE\t")
	rates := c.Rates(earlier)
	for i := range c.Channels {
		ch, r := &c.Channels[i], &rates[i]
		fmt.Fprintf(t, "%d\t%v\t%s\t%s\t%.0f\t%.0f\t%s\t%s\t%d\t%d\t%d\t%d\t%d\t%v\t%d\t%v\t\n",
			ch.Number, ch.Peer, ch.State, ch.Carrier, r.Sent, r.Received, byteCount(uint64(r.SentBytes)), byteCount(uint64(r.ReceivedBytes)),
			ch.Stats.Queued, ch.Stats.Unacknowledged, ch.Stats.SendWindow, ch.Stats.Unread, ch.Stats.OpenCalls,
			shortTime(ch.Stats.RTT), ch.Stats.Retransmitted, shortTime(max(0, c.Read.Sub(ch.LastActive))))
	}
	t.Flush()
}

// shortTime is a time with three digits or so.
func shortTime(d time.Duration) time.Duration {
	unit := time.Duration(1)
	for d/1000 >= unit { // no product, which the longest times have no room for: those of a program that publishes nonsense
		unit *= 10
	}
	return d.Round(unit)
}

// statJSON is what `braid stat --json` prints.
type statJSON struct {
	Schema   string        `json:"schema"`
	Contexts []contextJSON `json:"contexts"`
}

type contextJSON struct {
	PID        int               `json:"pid"`
	Program    string            `json:"program"`
	Context    int               `json:"context"`
	Alive      bool              `json:"alive"`
	Path       string            `json:"path"`
	Opened     time.Time         `json:"opened"`
	LastActive time.Time         `json:"last_active,omitzero"`
	Read       time.Time         `json:"read"`
	Stats      map[string]int64  `json:"stats"`
	Other      map[string]uint64 `json:"other,omitempty"`
	Channels   []channelJSON     `json:"channels"`
}

type channelJSON struct {
	Number     int               `json:"number"`
	Generation uint64            `json:"generation"`
	State      string            `json:"state"`
	Carrier    string            `json:"carrier"`
	Local      string            `json:"local"`
	Peer       string            `json:"peer"`
	Opened     time.Time         `json:"opened"`
	LastActive time.Time         `json:"last_active,omitzero"`
	Stats      map[string]int64  `json:"stats"`
	Other      map[string]uint64 `json:"other,omitempty"`
	Rates      ratesJSON         `json:"rates"`
}

type ratesJSON struct {
	Sent          float64 `json:"sent"`
	Received      float64 `json:"received"`
	SentBytes     float64 `json:"sent_bytes"`
	ReceivedBytes float64 `json:"received_bytes"`
	Calls         float64 `json:"calls"`
}

// statReport is what is printed for programs.
func statReport(now, earlier statLook) statJSON {
	report := statJSON{Schema: "braid.stat/1", Contexts: []contextJSON{}}
	for _, c := range now.inOrder() {
		x := contextJSON{
			PID: c.PID, Program: c.Program, Context: c.Number, Alive: c.Alive, Path: c.Path, Opened: c.Opened, LastActive: c.LastActive, Read: c.Read,
			Stats: maps.Collect(c.Stats.All()), Other: c.Other, Channels: []channelJSON{},
		}
		rates := c.Rates(earlier[c.Path])
		for i := range c.Channels {
			ch := &c.Channels[i]
			x.Channels = append(x.Channels, channelJSON{
				Number: ch.Number, Generation: ch.Generation, State: ch.State, Carrier: ch.Carrier, Local: ch.Local.String(), Peer: ch.Peer.String(),
				Opened: ch.Opened, LastActive: ch.LastActive, Stats: maps.Collect(ch.Stats.All()), Other: ch.Other, Rates: ratesJSON(rates[i]),
			})
		}
		report.Contexts = append(report.Contexts, x)
	}
	return report
}
