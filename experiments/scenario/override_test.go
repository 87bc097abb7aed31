package scenario

import (
	"errors"
	"strings"
	"testing"
)

func fieldValue(t *testing.T, s *Scenario, name string) string {
	t.Helper()
	for _, f := range s.Fields() {
		if f.Name == name {
			return f.Value
		}
	}
	t.Fatalf("there is no field %s", name)
	return ""
}

func TestSet(t *testing.T) {
	for _, test := range []struct{ set, field, want string }{
		{"seed=7", "seed", "7"},
		{"transports.mp.delta=8", "transports.mp.delta", "8"},
		{"transports.mp.preset=wire", "transports.mp.slots", "1024"},
		{"transports.mp.policy=spray", "transports.mp.policy", "spray"},
		{"transports.rc.rate=dcqcn-hpcc", "transports.rc.rate", "dcqcn-hpcc"},
		{"transports.rc.dcqcn.gain=0.5", "transports.rc.dcqcn.gain", "0.5"},
		{"transports.rc.recovery=go-back-0", "transports.rc.recovery", "go-back-0"},
		{"faults[0].loss=0.5", "faults[0].loss", "0.5"},
		{"faults.0.loss=0.5", "faults[0].loss", "0.5"},
		{"faults[0].link=tor0-path2", "faults[0].link", "[tor0-path2]"},
		{"faults=[]", "seed", "1"},
		{"fabric.ecn=none", "fabric.ecn", "none"},
		{"fabric.ecn=dcqcn", "fabric.ecn.kmin", "41200"},
		{"fabric.ecn=dcqcn-hpcc", "fabric.ecn.per", "25Gbps"},
		{"fabric.express.priority=7", "fabric.express.priority", "7"},
		{"fabric.ecn.kmax=30KB", "fabric.ecn.kmax", "30KB"},
		{"fabric.pfc=false", "fabric.pfc", "false"},
		{"fabric.pfc.xoff=64KiB", "fabric.pfc.xoff", "65536"},
		{"topology.rates=[1Gbps]", "topology.rates", "[1Gbps]"},
		{"topology={kind: ls128}", "topology.leaves", "8"},
		{"workload[1].bytes=3MB", "workload[1].bytes", "3MB"},
		{"measure.flows[1]=1", "measure.flows", "[0, 1]"},
		{"verify=true", "verify", "true"},
	} {
		t.Run(test.set, func(t *testing.T) {
			s := mustParse(t, small)
			if test.set == "topology={kind: ls128}" {
				// Other hosts and links: what names them goes too.
				if err := s.Set("faults=[]", "measure={}", test.set); err != nil {
					t.Fatal(err)
				}
			} else if err := s.Set(test.set); err != nil {
				t.Fatal(err)
			}
			if got := fieldValue(t, s, test.field); got != test.want {
				t.Errorf("%s is %s, want %s", test.field, got, test.want)
			}
		})
	}
}

func TestSetRefused(t *testing.T) {
	for _, test := range []struct{ set, field, want string }{
		{"seed", "", "field=value"},
		{"=3", "", "field=value"},
		{"sede=7", "sede", `did you mean "seed"?`},
		{"seed=[", "seed", "YAML"},
		{"seed=", "seed", "got nothing"},
		{"transports.mp.delta=65", "transports.mp.delta", "0 (no control of the order) to slots"},
		{"transports.mq.delta=8", "transports.mq.kind", "one of mp, rc"},
		{"faults[1].loss=0.5", "faults[1].loss", "below 1"},
		{"faults.x.loss=0.5", "faults.x.loss", "below 1"},
		{"things[0]=1", "things[0]", "a list that the scenario has"},
		{"measure.queues=[nowhere]", "measure.queues[0]", "the name of a link"},
	} {
		t.Run(test.set, func(t *testing.T) {
			s := mustParse(t, small)
			err := s.Set("transports.mp.alpha=2", test.set)
			var e *Error
			if !errors.As(err, &e) || e.File != "override" || e.Field != test.field || !strings.Contains(e.Error(), test.want) {
				t.Errorf("got %v, want %s about %s", err, test.want, test.field)
			}
			if got := fieldValue(t, s, "transports.mp.alpha"); got != "1" {
				t.Errorf("a refused change left alpha at %s", got)
			}
		})
	}
}

func TestWith(t *testing.T) {
	s := mustParse(t, small)
	changed, err := s.With("seed=5", "transports.mp.delta=9")
	if err != nil {
		t.Fatal(err)
	}
	if changed.Seed != 5 || changed.Transports["mp"].MP.Delta != 9 || s.Seed != 1 || s.Transports["mp"].MP.Delta != 16 {
		t.Errorf("got seed %d, the original has %d", changed.Seed, s.Seed)
	}
	if _, err := s.With("seed=x"); !errors.Is(err, ErrInvalid) {
		t.Errorf("got %v", err)
	}
}

// TestSetAllFields: every field that has a value takes that value again, and
// nothing changes by it.
func TestSetAllFields(t *testing.T) {
	s := mustParse(t, small)
	fields := s.Fields()
	var assignments []string
	for _, f := range fields {
		if f.Value != "" && f.Want != (&ECN{}).words() && f.Want != (&PFC{}).words() {
			assignments = append(assignments, f.Name+"="+f.Value)
		}
	}
	if err := s.Set(assignments...); err != nil {
		t.Fatal(err)
	}
	for i, f := range s.Fields() {
		if f != fields[i] {
			t.Errorf("%v became %v", fields[i], f)
		}
	}
}

func TestSetShortTransport(t *testing.T) {
	const short = "topology: {kind: testbed}\nworkload: [{kind: permutation, bytes: 1KB}]\n"
	for _, text := range []string{short, short + "transport: {kind: mp, delta: 31}"} {
		s := mustParse(t, text)
		if err := s.Set("transport.delta=8"); err != nil {
			t.Fatal(err)
		}
		if got := s.Transports["default"].MP.Delta; got != 8 {
			t.Errorf("delta is %d", got)
		}
		if err := s.Set("transports.default.slots=128"); err != nil {
			t.Fatal(err)
		}
		if m := s.Transports["default"].MP; m.Delta != 8 || m.Slots != 128 {
			t.Errorf("got delta %d, slots %d", m.Delta, m.Slots)
		}
	}
}

// TestSetAlias: a change to what refers to an anchor leaves the anchor alone.
func TestSetAlias(t *testing.T) {
	s := mustParse(t, `
topology: {kind: testbed}
transports:
  a: &a {kind: mp, delta: 8}
  b: *a
workload: [{kind: permutation, bytes: 1KB, transport: a}]
`)
	if err := s.Set("transports.b.delta=9"); err != nil {
		t.Fatal(err)
	}
	if a, b := s.Transports["a"].MP.Delta, s.Transports["b"].MP.Delta; a != 8 || b != 9 {
		t.Errorf("got %d and %d, want 8 and 9", a, b)
	}
}

// A policy goes to all MP transports, a congestion control to those that know it.
func TestChooseByName(t *testing.T) {
	const text = `
topology: {kind: testbed}
transports:
  a: {kind: mp}
  b: {kind: mp, policy: spray}
  c: {kind: rc}
workload:
- {kind: permutation, bytes: 1KB, transport: a}
- {kind: permutation, bytes: 1KB, transport: b}
- {kind: permutation, bytes: 1KB, transport: c}
`
	s, err := Parse("test", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Choose("roundrobin", "dctcp"); err != nil {
		t.Fatal(err)
	}
	if err := s.Choose("", "dcqcn"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		if m := s.Transports[name].MP; m.Policy != "round-robin" || m.Control != "dctcp" {
			t.Errorf("%s: policy %s, control %s", name, m.Policy, m.Control)
		}
	}
	if rate := s.Transports["c"].RC.Rate; rate != "dcqcn" {
		t.Errorf("rate control %s", rate)
	}
	for want, choice := range map[string][2]string{
		"unknown path policy":        {"ecmp", ""},
		"unknown congestion control": {"", "cubic"},
	} {
		if err := s.Choose(choice[0], choice[1]); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", choice, err, want)
		}
	}
	if s, err = s.With("transports={c: {kind: rc}}", "workload=[{kind: permutation, bytes: 1KB}]"); err != nil {
		t.Fatal(err)
	}
	for want, choice := range map[string][2]string{
		"belongs to transports of kind mp": {"spray", ""},
		"fits no transport":                {"", "dctcp"},
	} {
		if err := s.Choose(choice[0], choice[1]); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", choice, err, want)
		}
	}
}
