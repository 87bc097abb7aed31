package transport

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/braid-rdma/braid/wire"
)

// How transcripts let time pass, and in which words they tell what happens.

// runFor lets the time of its argument pass; without one it goes on until
// nothing is left to happen.
func (c *transcript) runFor(args []string) error {
	until := Never
	if len(args) > 0 {
		d, err := parseTime(args[0])
		if err != nil {
			return err
		}
		until = c.now + d
	}
	for range 100_000 {
		c.poll()
		next := min(c.ends[0].Timeout(), c.ends[1].Timeout())
		if len(c.flight) > 0 {
			next = min(next, c.flight[0].at)
		}
		if next > until || next == Never {
			if until != Never {
				c.now = until
			}
			return nil
		}
		c.now = max(c.now, next)
		c.step()
	}
	return fmt.Errorf("the conversation does not end")
}

// step delivers the packet that is due, or else lets timers run out.
func (c *transcript) step() {
	if len(c.flight) > 0 && c.flight[0].at <= c.now {
		l := c.flight[0]
		c.flight = slices.Delete(c.flight, 0, 1)
		c.deliver(&l)
		return
	}
	for _, e := range c.ends {
		if e.Timeout() <= c.now {
			e.HandleTimeout(c.now)
		}
	}
}

func (c *transcript) deliver(l *transcriptPacket) {
	if c.ends[l.to].HandlePacket(c.now, &l.Packet) != Place {
		return
	}
	rest := l.payload
	for _, s := range l.Packet.Spans {
		rest = rest[copy(s.Bytes(), rest):]
	}
}

// poll takes what both ends want to send and report.
func (c *transcript) poll() {
	for i, e := range c.ends {
		for e.PollTransmit(c.now, &c.packet) {
			c.send(i, &c.packet)
		}
		var done Completion
		for e.PollCompletion(&done) {
			c.tell(e.name, "completes %d: %v %s", done.WRID, done.Op, strings.TrimPrefix(done.Status.String(), "IBV_WC_"))
		}
		var event Event
		for e.PollEvent(&event) {
			c.tell(e.name, "raises %v", event.Kind)
		}
	}
}

// send gives a packet to the network, whose doings belong to the line that tells
// of the packet.
func (c *transcript) send(from int, p *Packet) {
	l := transcriptPacket{Packet: *p, to: 1 - from, at: c.now + c.delay}
	if d, ok := c.delays[p.Path]; ok {
		l.at = c.now + d
	}
	l.Spans, l.payload = nil, nil
	for _, s := range p.Spans {
		l.payload = append(l.payload, s.Bytes()...)
	}
	copies := 1
	switch verb := c.ruleFor(c.ends[from].name, p); verb {
	case "drop":
		copies = 0
		c.annotate("lost")
	case "duplicate":
		copies = 2
		c.annotate("arrives twice")
	case "mark":
		l.Marked = true
		c.annotate("marked")
	}
	for range copies {
		at, _ := slices.BinarySearchFunc(c.flight, l.at, func(other transcriptPacket, t Time) int {
			if other.at <= t {
				return -1
			}
			return 1
		})
		c.flight = slices.Insert(c.flight, at, l)
	}
}

// annotate adds to the line of the packet that was just sent.
func (c *transcript) annotate(note string) {
	if n := len(c.log); n > 0 {
		c.log[n-1] += " (" + note + ")"
	}
}

// ruleFor is what the first rule that matches a packet does to it.
func (c *transcript) ruleFor(from string, p *Packet) string {
	is := map[string]string{
		"from": from, "op": packetName(p.Opcode, p.AETH.Syndrome),
		"psn": strconv.Itoa(int(p.PSN)), "path": strconv.Itoa(int(p.Path)),
	}
	for _, r := range c.rules {
		matches := r.times > 0
		for key, value := range r.match {
			matches = matches && is[key] == value
		}
		if matches {
			r.times--
			return r.verb
		}
	}
	return ""
}

// packetName is an opcode without its service; an acknowledgement is called by
// what it says.
func packetName(op wire.Opcode, s wire.Syndrome) string {
	e := TraceEvent{Opcode: op}
	switch {
	case e.IsAck() && s.IsAck():
		return "ACK"
	case e.IsAck():
		return s.String()
	}
	if _, name, found := strings.Cut(op.String(), "_"); found {
		return name
	}
	return op.String()
}

// transcriptTracer is the tracer of one end.
type transcriptTracer struct {
	c     *transcript
	name  string
	paths bool // there are several
}

// Trace implements Tracer.
func (n *transcriptTracer) Trace(_ Time, e TraceEvent) {
	if n.c.noAcks && (e.Kind == TraceAcked || e.Kind == TraceSent && e.IsAck() && e.Syndrome.IsAck()) {
		return
	}
	switch e.Kind {
	case TraceSent:
		n.c.tell(n.name, "sends %s", n.describeSent(&e))
	case TraceReceived:
	case TraceAcked:
		n.c.tell(n.name, "has %s acknowledged%s", psnRange(&e), n.onPath(e.Path))
	case TraceLost:
		n.c.tell(n.name, "takes %s for lost%s%s", psnRange(&e), n.onPath(e.Path), n.noticed(e.Signal))
	case TraceSpurious:
		n.c.tell(n.name, "finds that %d was not lost", e.PSN)
	case TraceMarked:
		n.c.tell(n.name, "is told of congestion%s", n.onPath(e.Path))
	case TraceTimeout:
		n.c.tell(n.name, "times out with %d in flight from %d on", e.Packets, e.PSN)
	case TraceRetired, TraceRestored, TraceProbed:
		n.c.tell(n.name, "%s %d", strings.ReplaceAll(e.Kind.String(), "_", " "), e.Path)
	case TraceWindow:
		n.c.tell(n.name, "has a window of %.2f, %d in flight", e.Window, e.InFlight)
	case TraceRate:
		n.c.tell(n.name, "has a rate of %.0f Mb/s", e.Rate/1e6)
	case TraceBlocked:
		n.c.tell(n.name, "waits: %v", e.Reason)
	case TraceState:
		n.c.tell(n.name, "is in state %v", e.State)
	}
}

func (n *transcriptTracer) describeSent(e *TraceEvent) string {
	text := fmt.Sprintf("%s %d%s", packetName(e.Opcode, e.Syndrome), e.PSN, n.onPath(e.Path))
	if e.Again {
		text += " again"
	}
	return text
}

// noticed says how a loss was noticed. Where there are several paths it need not be a
// NAK: the order of arrival on a path shows losses, too.
func (n *transcriptTracer) noticed(s Signal) string {
	switch {
	case s == TimedOut:
		return ", by timeout"
	case n.paths:
		return ""
	}
	return ", by NAK"
}

// onPath names a path where there are several.
func (n *transcriptTracer) onPath(p Path) string {
	if !n.paths {
		return ""
	}
	return fmt.Sprintf(" on path %d", p)
}

func psnRange(e *TraceEvent) string {
	if e.Packets == 1 {
		return strconv.Itoa(int(e.PSN))
	}
	return fmt.Sprintf("%d-%d", e.PSN, e.PSN.Add(int(e.Packets)-1))
}

// counters tells what an end has counted, but for what every connection counts.
func (c *transcript) counters(a arguments) error {
	e := c.end(a.take("at", "a"))
	v := reflect.ValueOf(e.Counters()).Elem()
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		if n := v.Field(i).Uint(); n > 0 && !strings.HasPrefix(name, "Packets") && !strings.HasPrefix(name, "Bytes") {
			c.tell(e.name, "counts %s %d", name, n)
		}
	}
	return a.rest()
}

// tell adds a line.
func (c *transcript) tell(name, format string, args ...any) {
	at := float64(c.now-transcriptStart) / float64(Microsecond)
	c.log = append(c.log, fmt.Sprintf("%9.1f us  %s %s", at, name, fmt.Sprintf(format, args...)))
}

// output is what happened since it was last asked.
func (c *transcript) output() string {
	text := strings.Join(c.log, "\n")
	c.log = nil
	return text
}
