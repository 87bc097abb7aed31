package transport

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/braid-rdma/braid/wire"
)

// The files of testdata/transcripts are conversations between two queue pairs, a
// and b: blocks of commands, and below each block what happened, as the trace
// events tell it. `go test ./transport -run Transcripts -rewrite` writes what
// happens now; read the difference.
//
// The commands, with what they mean where a value is left out:
//
//	connect [mtu=256] [reads=4] [timeout=8] [retry=7] [rnr-retry=7] [rnr-timer=1] [window=] [rate=none] [keepalive=0s]
//	connect type=mp [...] [preset=paper|wire] [paths=4] [policy=] [cc=] [slots=] [delta=] [initial-window=]
//	        [max-window=] [run=] [probe-percent=0]    of what is not given, the preset's
//	delay TIME [path=]              one-way delay of all paths (10us) or of one
//	recv [at=b] [count=1]           post receives
//	post OP[=PACKETS] [at=a] [count=1] [fence] [sync] [wrong-key=]    OP: send, write, read, fetch-add
//	drop|mark|duplicate [from=] [op=] [psn=] [path=] [times=1]    what the network does to packets that match
//	invalidate [at=b]               end the registration of the memory that the peer uses
//	counters [at=a]                 tell what was counted, beside packets and bytes
//	hide-acks                       do not tell of acknowledgements from here on
//	run [TIME]                      let time pass, or all happen that is to come
//
// A connection begins anew: PSNs are 0 on both sides, and so is the time. What
// arrives is not shown: it is what was sent, unless the line says otherwise.
func TestTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata/transcripts", func(t *testing.T, path string) {
		var c *transcript
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			for _, line := range append([]string{d.FullCmd()}, strings.Split(d.Input, "\n")...) {
				if strings.HasPrefix(line, "connect") {
					c = newTranscript()
				}
				if err := c.execute(strings.Fields(line)); err != nil {
					d.Fatalf(t, "%s: %v", line, err)
				}
			}
			return c.output()
		})
	})
}

// The driver carries multi-path queue pairs as well, over paths of their own delay.
func TestTranscriptOfMP(t *testing.T) {
	for _, preset := range []string{"paper", "wire"} {
		c := newTranscript()
		for _, line := range []string{
			"connect type=mp timeout=14 policy=round-robin cc=fixed preset=" + preset,
			"delay 50us path=2", "drop from=a path=2 times=3", "recv count=1", "post write=20", "post send=3", "post read=5", "run 1s",
		} {
			if err := c.execute(strings.Fields(line)); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
		}
		told := c.output()
		for _, want := range []string{
			"a completes 1: RDMA_WRITE SUCCESS", "b completes 1: RECV SUCCESS", "a completes 2: SEND SUCCESS", "a completes 3: RDMA_READ SUCCESS",
		} {
			if !strings.Contains(told, want) {
				t.Errorf("%s: %q is missing in\n%s", preset, want, told)
			}
		}
	}
}

// transcriptStart is the instant that transcripts call zero.
const transcriptStart = Second

// transcriptRegion is the memory of an end: the first half is for the peer, the
// second for its own requests.
const transcriptRegion = 1 << 20

// transcript is two queue pairs and the network between them.
type transcript struct {
	now    Time
	ends   [2]*transcriptEnd
	delay  Time
	delays map[Path]Time
	rules  []*netRule
	flight []transcriptPacket // sorted by arrival; equal ones in the order of sending
	log    []string
	packet Packet
	noAcks bool // acknowledgements are not told
}

func newTranscript() *transcript {
	return &transcript{delays: map[Path]Time{}, delay: 10 * Microsecond, now: transcriptStart}
}

// transcriptEnd is one end; its name is a or b.
type transcriptEnd struct {
	QP
	name   string
	memory *testMemory
	region *Region
	posted uint64
	mtu    int
}

// transcriptPacket is a packet on its way.
type transcriptPacket struct {
	Packet
	payload []byte
	to      int
	at      Time
}

// netRule is what the network does to packets that match.
type netRule struct {
	verb  string
	match map[string]string
	times int
}

// arguments are what follows the command's name: key=value, or a word alone.
type arguments map[string]string

func parseArguments(fields []string) arguments {
	a := arguments{}
	for _, f := range fields {
		key, value, _ := strings.Cut(f, "=")
		a[key] = value
	}
	return a
}

// take removes an argument and returns its value, or another if there is none.
func (a arguments) take(key, otherwise string) string {
	value, ok := a[key]
	delete(a, key)
	if !ok {
		return otherwise
	}
	return value
}

func (a arguments) takeInt(key string, otherwise int) int {
	n, err := strconv.Atoi(a.take(key, strconv.Itoa(otherwise)))
	if err != nil {
		panic(fmt.Sprintf("%s: %v", key, err))
	}
	return n
}

func (a arguments) has(word string) bool {
	_, ok := a[word]
	delete(a, word)
	return ok
}

// rest is an error if an argument was not understood.
func (a arguments) rest() error {
	if len(a) > 0 {
		return fmt.Errorf("unknown arguments %v", map[string]string(a))
	}
	return nil
}

func parseTime(text string) (Time, error) {
	d, err := time.ParseDuration(text)
	return Time(d), err
}

// execute runs one command.
func (c *transcript) execute(fields []string) error {
	if len(fields) == 0 {
		return nil
	}
	a := parseArguments(fields[1:])
	switch verb := fields[0]; verb {
	case "connect":
		return c.connect(a)
	case "recv":
		return c.recv(a)
	case "post":
		return c.post(fields[1], a)
	case "drop", "mark", "duplicate":
		c.rules = append(c.rules, &netRule{verb: verb, times: a.takeInt("times", 1), match: a})
		return nil
	case "invalidate":
		e := c.end(a.take("at", "b"))
		e.memory.deregister(e.region)
		return a.rest()
	case "delay":
		return c.setDelay(fields[1], a)
	case "counters":
		return c.counters(a)
	case "hide-acks":
		c.noAcks = true
		return a.rest()
	case "run":
		return c.runFor(fields[1:])
	}
	return fmt.Errorf("unknown command")
}

func (c *transcript) end(name string) *transcriptEnd {
	i := slices.Index([]string{"a", "b"}, name)
	if i < 0 || c.ends[i] == nil {
		panic(fmt.Sprintf("there is no end %q", name))
	}
	return c.ends[i]
}

func (c *transcript) setDelay(text string, a arguments) error {
	d, err := parseTime(text)
	if err != nil {
		return err
	}
	if path := a.takeInt("path", -1); path >= 0 {
		c.delays[Path(path)] = d
	} else {
		c.delay = d
	}
	return nil
}

// connect makes both ends, with the same options.
func (c *transcript) connect(a arguments) error {
	attr := Attr{
		MTU: a.takeInt("mtu", 256), RemoteQPN: 0x22, Reads: a.takeInt("reads", 4), ReadsServed: 4,
		Timeout: uint8(a.takeInt("timeout", 8)), RetryCount: uint8(a.takeInt("retry", 7)),
		RNRRetry: uint8(a.takeInt("rnr-retry", 7)), MinRNRTimer: uint8(a.takeInt("rnr-timer", 1)),
		Window: a.takeInt("window", 0),
	}
	keepalive, err := parseTime(a.take("keepalive", "0s"))
	if err != nil {
		return err
	}
	attr.Keepalive = keepalive
	kind := a.take("type", "rc")
	cfg := Config{PD: 7, SendDepth: 64, RecvDepth: 64, MaxSendSGE: 1, MaxRecvSGE: 1, Number: 0x11}
	if err := cfg.RC.ChooseRate(a.take("rate", ""), 1e9); err != nil {
		return err
	}
	cfg.MP = PaperOptions()
	if a.take("preset", "paper") == "wire" {
		cfg.MP = WireOptions()
	}
	if kind == "mp" {
		if err := takeMPOptions(a, &cfg.MP); err != nil {
			return err
		}
		attr.Paths = a.takeInt("paths", 4)
	}
	for i, name := range []string{"a", "b"} {
		var err error
		if c.ends[i], err = c.newEnd(name, kind, cfg, &attr); err != nil {
			return err
		}
	}
	c.poll()
	c.log = nil // that both are in state RTS and have nothing to send
	return a.rest()
}

// takeMPOptions changes what is named of a preset. No packet probes a path by
// chance unless that is asked for.
func takeMPOptions(a arguments, o *MPOptions) error {
	o.Slots, o.Delta = a.takeInt("slots", o.Slots), a.takeInt("delta", o.Delta)
	o.InitialWindow, o.MaxWindow = a.takeInt("initial-window", o.InitialWindow), a.takeInt("max-window", o.MaxWindow)
	o.Run = a.takeInt("run", o.Run)
	o.LossTolerance = float64(a.takeInt("tolerance-percent", int(100*o.LossTolerance))) / 100
	o.ProbeProbability = float64(a.takeInt("probe-percent", 0)) / 100
	return o.Choose(a.take("policy", ""), a.take("cc", ""))
}

func (c *transcript) newEnd(name, kind string, cfg Config, attr *Attr) (e *transcriptEnd, err error) {
	e = &transcriptEnd{name: name, memory: newTestMemory(), mtu: attr.MTU}
	e.region = e.memory.register(cfg.PD, transcriptRegion, allAccess)
	fill(e.region.Bytes, uint64(name[0]))
	cfg.Memory, cfg.Rand = e.memory, rand.New(rand.NewPCG(uint64(name[0]), 1))
	cfg.Trace = &transcriptTracer{c, name, kind == "mp"}
	if kind == "mp" {
		e.QP, err = NewMP(cfg)
	} else {
		e.QP, err = NewRC(cfg)
	}
	for _, state := range []State{Init, RTR, RTS} {
		if err == nil {
			err = e.Modify(c.now, state, attr)
		}
	}
	return e, err
}

func (c *transcript) recv(a arguments) error {
	e := c.end(a.take("at", "b"))
	for range a.takeInt("count", 1) {
		e.posted++
		if err := e.PostRecv(&RecvWR{ID: e.posted, SGEs: []SGE{e.region.span(0, transcriptRegion/2)}}); err != nil {
			return err
		}
	}
	return a.rest()
}

var transcriptOps = map[string]Op{"send": OpSend, "write": OpWrite, "read": OpRead, "fetch-add": OpFetchAdd}

// post posts a request of a number of whole packets to the end's peer.
func (c *transcript) post(what string, a arguments) error {
	name, _, _ := strings.Cut(what, "=")
	op, ok := transcriptOps[name]
	if !ok {
		return fmt.Errorf("unknown operation")
	}
	e := c.end(a.take("at", "a"))
	peer := c.ends[0].region
	if e == c.ends[0] {
		peer = c.ends[1].region
	}
	packets := 1
	if a[name] != "" {
		packets = a.takeInt(name, 1)
	}
	delete(a, name)
	length := packets * e.mtu
	if op.isAtomic() {
		length = 8
	}
	if length > transcriptRegion/2 {
		return fmt.Errorf("at most %d bytes", transcriptRegion/2)
	}
	e.posted++
	wr := SendWR{
		ID: e.posted, Op: op, Flags: Signaled, SGEs: []SGE{e.region.span(transcriptRegion/2, length)},
		RemoteAddr: peer.Base, RKey: peer.RKey, SwapAdd: 1,
	}
	if a.has("fence") {
		wr.Flags |= Fence
	}
	if a.has("sync") {
		wr.Flags |= Synchronise
	}
	wr.RKey += wire.RKey(a.takeInt("wrong-key", 0))
	for n := a.takeInt("count", 1); n > 0; n-- {
		if err := e.PostSend(c.now, &wr); err != nil {
			return err
		}
		if n > 1 {
			e.posted++
			wr.ID = e.posted
		}
	}
	return a.rest()
}
