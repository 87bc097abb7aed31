package transport

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestRegistryLookup(t *testing.T) {
	for name, want := range map[string]string{
		"ack-clock": "ack-clock", "ackclock": "ack-clock", "RoundRobin": "round-robin", "flowlet": "flowlet",
	} {
		if e, err := PathPolicies.Lookup(name); err != nil || e.Name != want || e.New == nil {
			t.Errorf("%q: got %q, %v; want %q", name, e.Name, err, want)
		}
	}
	for _, e := range PathPolicies.Entries() {
		o := PaperOptions()
		if err := o.Choose(e.Name, ""); err != nil || o.Policy == nil || o.Control != nil {
			t.Errorf("%s: %v", e.Name, err)
		}
	}
	for _, e := range CongestionControls.Entries() {
		o := PaperOptions()
		if err := o.Choose("", e.Name); err != nil || o.Control(&o).Window() < 1 {
			t.Errorf("%s: %v", e.Name, err)
		}
	}
	for _, e := range RateControls.Entries() {
		var o RCOptions
		if err := o.ChooseRate(e.Name, 10e9); err != nil || (o.Rate == nil) != (e.Name == "none") {
			t.Errorf("%s: %+v, %v", e.Name, o, err)
		}
	}
}

func TestRegistryExplainsWhatItDoesNotKnow(t *testing.T) {
	var mp MPOptions
	var rc RCOptions
	for _, c := range []struct {
		err  error
		want string
	}{
		{mp.Choose("ecmp", ""), `unknown path policy "ecmp": use one of ack-clock, single, round-robin, spray, flowlet, penalty`},
		{mp.Choose("", "cubic"), `unknown congestion control of MP queue pairs "cubic": use one of mp-rdma, dctcp, fixed`},
		{mp.Choose("", "dcqcn"), `"dcqcn" is a rate control of RC queue pairs, not a congestion control of MP queue pairs: use one of mp-rdma, dctcp, fixed`},
		{rc.ChooseRate("mp-rdma", 1e9), `"mp-rdma" is a congestion control of MP queue pairs, not a rate control of RC queue pairs: use one of none, dcqcn, dcqcn-hpcc, dcqcn-hpcc-paper`},
	} {
		if c.err == nil || c.err.Error() != c.want {
			t.Errorf("got  %v\nwant %s", c.err, c.want)
		}
	}
	if mp.Policy != nil || mp.Control != nil || rc.Rate != nil {
		t.Error("a refused name changed the options")
	}
}

// A program's own policy is chosen by its name; a bad registration is a fault of
// the program.
func TestRegistryIsOpen(t *testing.T) {
	r := Registry[NewPathPolicy]{kind: "path policy", entries: PathPolicies.Entries()}
	r.Register(Entry[NewPathPolicy]{"mine-2", "for the test", NewSinglePath})
	if e, err := r.Lookup("mine-2"); err != nil || e.Description != "for the test" {
		t.Errorf("%+v, %v", e, err)
	}
	if _, err := PathPolicies.Lookup("mine-2"); err == nil {
		t.Error("a copy shares the entries")
	}
	for _, e := range []Entry[NewPathPolicy]{
		{"mine2", "the same but for a hyphen", NewSinglePath},
		{"", "no name", NewSinglePath},
		{"-", "no letter", NewSinglePath},
		{"a b", "a space", NewSinglePath},
		{"Upper", "a capital", NewSinglePath},
		{"silent", "", NewSinglePath},
	} {
		if !panics(func() { r.Register(e) }) {
			t.Errorf("%q was registered", e.Name)
		}
	}
}

func panics(f func()) (did bool) {
	defer func() { did = recover() != nil }()
	f()
	return false
}

// rewriting says that files are to be written anew instead of being compared:
// the flag that transcripts have too.
func rewriting() bool { return flag.Lookup("rewrite").Value.String() == "true" }

// The table of docs/policies.md is the registry.
func TestRegistryIsDocumented(t *testing.T) {
	const file, begin, end = "../docs/policies.md", "<!-- registry -->\n", "<!-- end -->\n"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(data), begin)
	got, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no table between %q and %q", file, begin, end)
	}
	want := registryTable()
	if got == want {
		return
	}
	if !rewriting() {
		t.Fatalf("%s differs from the registry; go test ./transport -run Documented -rewrite writes it anew\ngot\n%swant\n%s", file, got, want)
	}
	if err := os.WriteFile(file, []byte(before+begin+want+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

func registryTable() string {
	var b strings.Builder
	b.WriteString("| chooses | name | what it does |\n| --- | --- | --- |\n")
	tableRows(&b, "path policy (MP)", &PathPolicies)
	tableRows(&b, "congestion control (MP)", &CongestionControls)
	tableRows(&b, "rate control (RC)", &RateControls)
	return b.String()
}

func tableRows[T any](b *strings.Builder, what string, r *Registry[T]) {
	for i, e := range r.Entries() {
		mark := ""
		if i == 0 {
			mark = " (default)"
		}
		fmt.Fprintf(b, "| %s | `%s`%s | %s |\n", what, e.Name, mark, e.Description)
	}
}
