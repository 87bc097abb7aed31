package scenario

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/braid-rdma/braid/sim"
	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

// small is a scenario that runs; tests change it.
const small = `name: small
duration: 5ms
topology:
  kind: testbed
  rates: [40Gbps, 10Gbps]
fabric:
  mtu: 1024
  ecn: {kmin: 20KB, kmax: 20KB}
  pfc: true
transports:
  mp: {kind: mp, delta: 16}
  rc: {kind: rc, rate: dcqcn}
workload:
  - {kind: pairs, pairs: [[0, 5], [1, 6]], bytes: 100KB, transport: mp}
  - {kind: pairs, pairs: [[2, 7]], bytes: 50KB, transport: rc, start: 10us}
faults:
  - {at: 10us, until: 20us, link: tor0-path1, loss: 0.01}
measure: {sample: 20us, flows: [0, 2], queues: [tor0-path1], windows: true, degrees: true}
`

func mustParse(t testing.TB, text string) *Scenario {
	t.Helper()
	s, err := Parse("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestErrors checks where each mistake is found and what is said about it.
// Of many links an error names the nearest.
func TestErrorNamesTheNearestLinks(t *testing.T) {
	many := strings.Replace(small, "rates: [40Gbps, 10Gbps]", "rates: [40Gbps, 10Gbps]\n  senders: 20", 1)
	_, err := Parse("test.yaml", []byte(strings.Replace(many, "link: tor0-path1,", "link: tor0-pfad2,", 1)))
	if want := "of which there are 29; the nearest are tor0-path2, tor0-path1, "; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}

func TestErrors(t *testing.T) {
	for _, test := range []struct {
		name     string
		old, new string // what is changed in small
		line     int
		column   int
		field    string
		want     string // part of the error
	}{
		{"unknown field", "duration:", "durration:", 2, 1, "durration", `did you mean "duration"?`},
		{"unknown field of a transport", "delta: 16", "detla: 16", 11, 18, "transports.mp.detla", `did you mean "delta"?`},
		{"field of another kind", "rate: dcqcn", "delta: 3", 12, 18, "transports.rc.delta", "unknown field"},
		{"field twice", "mtu: 1024", "mtu: 1024\n  mtu: 2048", 8, 3, "fabric.mtu", "only once"},
		{"word for a number", "delta: 16", "delta: many", 11, 25, "transports.mp.delta", `got "many", expected a whole number`},
		{"negative", "delta: 16", "delta: -1", 11, 25, "transports.mp.delta", "not negative"},
		{"number for a truth", "windows: true", "windows: 1", 18, 71, "measure.windows", "true or false"},
		{"list for a mapping", "fabric:\n  mtu: 1024\n  ecn: {kmin: 20KB, kmax: 20KB}\n  pfc: true", "fabric: [1]", 6, 9, "fabric", "a mapping"},
		{"nothing", "mtu: 1024", "mtu:", 7, 7, "fabric.mtu", "got nothing"},
		{"time without unit", "sample: 20us", "sample: 20", 18, 19, "measure.sample", "a time such as"},
		{"unknown unit", "40Gbps", "40Gbit", 5, 11, "topology.rates[0]", "a rate such as 40Gbps"},
		{"unknown kind", "kind: testbed", "kind: testbet", 4, 9, "topology.kind", `did you mean "testbed"?`},
		{"no kind", "{kind: mp, delta: 16}", "{delta: 16}", 11, 7, "transports.mp.kind", "one of mp, rc"},
		{"unknown preset", "delta: 16", "preset: papre", 11, 26, "transports.mp.preset", `did you mean "paper"?`},
		{"unknown policy", "delta: 16", "policy: sprai", 11, 26, "transports.mp.policy", `did you mean "spray"?`},
		{"unknown DCQCN", "rate: dcqcn", "rate: dcqcn-hppc", 12, 24, "transports.rc.rate", "dcqcn-hpcc"},
		{"impossible delta", "delta: 16", "delta: 65", 11, 25, "transports.mp.delta", "to slots, which is 64"},
		{"impossible slots", "delta: 16", "slots: 63", 11, 25, "transports.mp.slots", "power of two"},
		{"DCQCN without", "rate: dcqcn", "rate: none, dcqcn: {gain: 0.1}", 12, 37, "transports.rc.dcqcn", "rate control is none"},
		{"express class of the flows", "pfc: true", "express: {priority: 3}", 9, 23, "fabric.express.priority", "fabric.priority"},
		{"impossible DCQCN", "rate: dcqcn", "rate: dcqcn, dcqcn: {gain: 2}", 12, 38, "transports.rc.dcqcn", "gain"},
		{"too many paths", "delta: 16", "paths: 65", 11, 25, "transports.mp.paths", "fabric.paths, which is 64"},
		{"window of one transport", "rate: dcqcn", "window: 10", 11, 7, "transports.mp", "NICs"},
		{"impossible MTU", "mtu: 1024", "mtu: 1502", 7, 8, "fabric.mtu", "multiple of 4"},
		{"impossible marking", "kmin: 20KB, kmax: 20KB", "kmin: 30KB, kmax: 20KB", 8, 27, "fabric.ecn.kmax", "kmin (30KB)"},
		{"marking by a word", "{kmin: 20KB, kmax: 20KB}", "some", 8, 8, "fabric.ecn", "none, or"},
		{"impossible alpha", "pfc: true", "pfc: {alpha: 65}", 9, 16, "fabric.pfc.alpha", "0 to 64"},
		{"impossible pause", "pfc: true", "pfc: {quanta: 65536}", 9, 17, "fabric.pfc.quanta", "0 to 65535"},
		{"impossible headroom", "pfc: true", "pfc: {headroom: 1GiB}", 9, 19, "fabric.pfc.headroom", "less than 1GiB"},
		{"unknown switch", "pfc: true", "pfc: true\n  switches: {path9: {ecn: none}}", 10, 21, "fabric.switches.path9", `did you mean "path1"?`},
		{"unknown link", "pfc: true", "pfc: true\n  links: {tor0-path9: {ecn: none}}", 10, 23, "fabric.links.tor0-path9", "the name of a link"},
		{"impossible topology", "rates: [40Gbps, 10Gbps]", "senders: 0", 4 + 1, 12, "topology.senders", "1 to"},
		{"impossible host", "[1, 6]", "[1, 60]", 14, 39, "workload[0].pairs[1].dst", "0 to 9"},
		{"half a pair", "[1, 6]", "[1]", 14, 35, "workload[0].pairs[1]", "a list of 2"},
		{"unknown workload", "- {kind: pairs, pairs: [[2, 7]]", "- {kind: pair, pairs: [[2, 7]]", 15, 12, "workload[1].kind", `did you mean "pairs"?`},
		{"unknown transport", "transport: mp}", "transport: mq}", 14, 69, "workload[0].transport", `did you mean "mp"?`},
		{"no transport of two", ", transport: mp}", "}", 14, 5, "workload[0].transport", "one of mp, rc"},
		{"trace that is not there", "{kind: pairs, pairs: [[2, 7]], bytes: 50KB,", "{kind: trace, file: nowhere.csv,", 15, 25, "workload[1].file", "a trace"},
		{"unknown distribution", "{kind: pairs, pairs: [[2, 7]], bytes: 50KB,", "{kind: poisson, load: 0.5, sizes: web serch,", 15, 39, "workload[1].sizes", `did you mean "web search"?`},
		{"impossible load", "{kind: pairs, pairs: [[2, 7]], bytes: 50KB,", "{kind: poisson, load: 2, sizes: hadoop,", 15, 27, "workload[1].load", "up to 1"},
		{"fault on no link", "link: tor0-path1,", "link: path1-tor0,", 17, 35, "faults[0].link", `did you mean "tor0-path1"?`},
		{"fault on a link far from any", "link: tor0-path1,", "link: uplink,", 17, 35, "faults[0].link", "the name of a link: h0-tor0, h1-tor0, "},
		{"fault without link", "link: tor0-path1, ", "", 17, 5, "faults[0].link", "the name of a link"},
		{"impossible loss", "loss: 0.01", "loss: 1.5", 17, 53, "faults[0].loss", "from 0 to 1"},
		{"healed before it broke", "until: 20us", "until: 5us", 17, 23, "faults[0].until", "a time after 10us"},
		{"flap and until", "loss: 0.01", "flap: {period: 1ms, times: 2}", 17, 53, "faults[0].flap", "either"},
		{"unknown direction", "loss: 0.01", "direction: fourth", 17, 58, "faults[0].direction", `did you mean "forth"?`},
		{"slow host that is not there", "duration: 5ms", "duration: 5ms\nreceivers: [{host: 10}]", 3, 20, "receivers[0].host", "0 to 9"},
		{"fast before it was slow", "duration: 5ms", "duration: 5ms\nreceivers: [{host: 1, at: 2us, until: 1us}]", 3, 39, "receivers[0].until", "a time after 2us"},
		{"impossible receive buffer", "duration: 5ms", "duration: 5ms\nreceivers: [{host: 1, buffer: 2GiB}]", 3, 31, "receivers[0].buffer", "less than 1GiB"},
		{"unknown queue", "queues: [tor0-path1]", "queues: [tor0-pat1]", 18, 49, "measure.queues[0]", `did you mean "tor0-path1"?`},
		{"unknown flow", "flows: [0, 2]", "flows: [0, 3]", 18, 36, "measure.flows[1]", "below 3"},
		{"series without sample", "sample: 20us, ", "", 18, 10, "measure.sample", "the time between samples"},
		{"endless series", "sample: 20us", "sample: 1ps", 18, 19, "measure.sample", "at least 1ns"},
		{"no time", "duration: 5ms", "duration: 0", 2, 11, "duration", "above 0"},
		{"both transports", "duration: 5ms", "transport: {kind: mp}", 2, 1, "transport", `did you mean "transports"?`},
		{"node of no kind", "kind: testbed\n  rates: [40Gbps, 10Gbps]", "kind: graph\n  nodes: [{name: a, kind: hots}]", 5, 27, "topology.nodes[0].kind", `did you mean "host"?`},
		{"link to nowhere", "kind: testbed\n  rates: [40Gbps, 10Gbps]", "kind: graph\n  nodes: [{name: a, kind: host}]\n  links: [{from: a, to: b}]", 6, 25, "topology.links[0].to", "the name of a node"},
		{"network in two parts", "kind: testbed\n  rates: [40Gbps, 10Gbps]", "kind: graph\n  nodes: [{name: a, kind: host}, {name: b, kind: host}]", 5, 11, "topology.nodes[0]", "has no link"},
		{"not YAML", "duration: 5ms", "duration: [5ms", 2, 1, "", "YAML"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if !strings.Contains(small, test.old) {
				t.Fatalf("%q is not in the scenario", test.old)
			}
			_, err := Parse("test.yaml", []byte(strings.Replace(small, test.old, test.new, 1)))
			var e *Error
			if !errors.As(err, &e) || !errors.Is(err, ErrInvalid) {
				t.Fatalf("got %v, want an *Error", err)
			}
			if e.File != "test.yaml" || e.Line != test.line || e.Column != test.column || e.Field != test.field {
				t.Errorf("got %s:%d:%d %s, want %d:%d %s", e.File, e.Line, e.Column, e.Field, test.line, test.column, test.field)
			}
			if !strings.Contains(e.Error(), test.want) {
				t.Errorf("%q does not say %q", e.Error(), test.want)
			}
		})
	}
}

func TestErrorsTogether(t *testing.T) {
	text := strings.NewReplacer("delta: 16", "delta: 65", "loss: 0.01", "loss: 2", "tor0-path1]", "tor9]", "[1, 6]", "[1, 1]").Replace(small)
	_, err := Parse("test.yaml", []byte(text))
	var all Errors
	if !errors.As(err, &all) || len(all) != 4 {
		t.Fatalf("got %v, want four errors", err)
	}
	for i, line := range []int{11, 14, 17, 18} {
		if all[i].Line != line {
			t.Errorf("error %d is of line %d, want %d", i, all[i].Line, line)
		}
	}
	if lines := strings.Count(err.Error(), "\n") + 1; lines != 4 {
		t.Errorf("the text has %d lines", lines)
	}
}

func TestMissingSections(t *testing.T) {
	for text, field := range map[string]string{
		"":                          "",
		"name: x":                   "topology",
		"topology: {kind: testbed}": "workload",
		"[1, 2]":                    "",
		"topology: &a {kind: *a}":   "topology.kind",
		"topology: {kind: testbed}\n---\nname: second": "",
	} {
		_, err := Parse("test.yaml", []byte(text))
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%q: got %v", text, err)
			continue
		}
		if e.Field != field {
			t.Errorf("%q: field %q, want %q", text, e.Field, field)
		}
	}
}

func TestDecoded(t *testing.T) {
	s := mustParse(t, small)
	if s.Name != "small" || s.Seed != 1 || s.Duration != 5*sim.Millisecond {
		t.Errorf("got %q, seed %d, %v", s.Name, s.Seed, s.Duration)
	}
	if g := s.Graph(); len(g.Hosts) != 10 || len(g.Links) != 14 {
		t.Errorf("the preset with two paths has %d hosts and %d links", len(g.Hosts), len(g.Links))
	}
	c := s.config()
	if c.MTU != 1024 || !c.Switch.PFC.On || c.Switch.Marking.Kmin != 20_000 || c.Switch.Marking.Pmax != 1 {
		t.Errorf("got %+v", c)
	}
	mp := s.Transports["mp"].carrier(1, nil)
	want := verbs.PaperOptions()
	if mp.QP.Type != verbs.MP || mp.QP.MP.Delta != 16 || mp.QP.MP.Slots != want.Slots || mp.QP.MP.MinRTO != want.MinRTO {
		t.Errorf("got %+v", mp.QP.MP)
	}
	rc := s.Transports["rc"].carrier(40e9, nil)
	if rc.QP.Type != verbs.RC || rc.QP.RC.Rate == nil || rc.QP.RC.CNPInterval != transport.DCQCNAuthors(40e9).DecreaseInterval || rc.QP.RC.Notices != transport.PolledNotices {
		t.Errorf("got %+v", rc.QP.RC)
	}
}

// TestPresets: a preset without further fields is the transport's own.
func TestPresets(t *testing.T) {
	for name, options := range presets {
		want := options()
		if got := mpOf(name, want).options(); got.Slots != want.Slots || got.Rebalance != want.Rebalance ||
			got.MaxWindowBytes != want.MaxWindowBytes || got.MinRTO != want.MinRTO || got.KeepWindow != want.KeepWindow ||
			got.EarlyRetransmit != want.EarlyRetransmit || got.WindowedSpan != want.WindowedSpan {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
	}
}

func TestSwitchOverride(t *testing.T) {
	s := mustParse(t, strings.Replace(small, "pfc: true", "buffer: 1MB\n  pfc: true\n  switches: {tor1: {ecn: none}, path1: {pfc: {xoff: 50KB, alpha: 0.0625, reserve: 2KB, headroom: 30KB, reaction: 1us}}}", 1))
	c := s.config()
	if tor := c.SwitchFor["tor1"]; tor.Marking.Kmax != 0 || tor.Buffer != 1_000_000 || !tor.PFC.On {
		t.Errorf("an exception keeps what it does not name: got %+v", tor)
	}
	want := sim.PFC{On: true, XOFF: 50_000, Alpha: 1.0 / 16, Reserve: 2000, Headroom: 30_000, Reaction: sim.Microsecond}
	if path := c.SwitchFor["path1"]; path.PFC != want || path.Marking.Kmax != 20_000 {
		t.Errorf("got %+v", path)
	}
}

var large = regexp.MustCompile(`[0-9]{4}|poisson`)

func FuzzParse(f *testing.F) {
	f.Add([]byte(small))
	f.Add([]byte("topology: {kind: graph, nodes: [{name: a, kind: host}], links: [{from: a, to: a}]}\nworkload: [{kind: incast}]"))
	f.Add([]byte("a: &a [*a]\ntopology: *a"))
	f.Fuzz(func(t *testing.T, data []byte) {
		// Large networks and many flows are slow, not wrong.
		if len(data) > 2000 || large.Match(bytes.ReplaceAll(data, []byte("1024"), nil)) {
			return
		}
		s, err := Parse("fuzz.yaml", data)
		if (s == nil) == (err == nil) {
			t.Fatalf("got %v and %v", s, err)
		}
		if err != nil && !errors.Is(err, ErrInvalid) {
			t.Fatalf("%v is no ErrInvalid", err)
		}
		if err == nil {
			s.Fields()
		}
	})
}
