package workload

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestMessageSize(t *testing.T) {
	tests := []struct {
		name           string
		flow           Flow
		size, messages int64
	}{
		{"one message", Flow{Bytes: 1000}, 1000, 1},
		{"more than a message can hold", Flow{Bytes: 3<<30 + 1}, 1 << 30, 4},
		{"cut evenly", Flow{Bytes: 4096, Message: 1024}, 1024, 4},
		{"a short last one", Flow{Bytes: 4097, Message: 1024}, 1024, 5},
		{"shorter than a message", Flow{Bytes: 10, Message: 1024}, 10, 1},
		{"endless", Flow{}, 1 << 30, 0},
		{"endless with a size", Flow{Message: 512}, 512, 0},
		{"paced", Flow{Rate: 1e9}, 64 << 10, 0},
		{"paced and short", Flow{Rate: 1e9, Bytes: 100_000}, 64 << 10, 2},
		{"paced with a size", Flow{Rate: 1e9, Message: 512, Bytes: 1024}, 512, 2},
	}
	for _, test := range tests {
		if got := test.flow.MessageSize(); got != test.size {
			t.Errorf("%s: message size %d, want %d", test.name, got, test.size)
		}
		if got := test.flow.Messages(); got != test.messages {
			t.Errorf("%s: %d messages, want %d", test.name, got, test.messages)
		}
	}
}

// everyKind has one generator of each kind, with what draws from the random
// source switched on, for 12 hosts.
func everyKind(t *testing.T) map[string]Generator {
	t.Helper()
	trace, err := ParseTrace(strings.NewReader("src,dst,start_us,bytes\n1,2,30,5\n3,4,1.5,0\n"))
	if err != nil {
		t.Fatal(err)
	}
	trace.Profile = Profile{Jitter: Microsecond}
	base := Profile{
		Start: Millisecond, Jitter: 50 * Microsecond, Message: 4096, Rate: 1e9,
		Priority: 3, Sync: 0.25, Class: "x",
	}
	unnamed := base
	unnamed.Class = ""
	collective := Collective{Profile: base, Bytes: 1e6, Shuffle: true, Rounds: 2, Compute: 5, Reduce: 3}
	ring := RingAllReduce{collective}
	return map[string]Generator{
		"permutation":        Permutation{Profile: base, Bytes: 100, HostsPerGroup: 4},
		"first half":         Permutation{Profile: base, Senders: FirstHalf},
		"random half":        Permutation{Profile: base, Senders: RandomHalf},
		"incast":             Incast{Profile: base, Receiver: AnyHost, Degree: 5, Bytes: 100},
		"all-to-all":         AllToAll{Profile: base, Bytes: 100, Concurrency: 2, Shuffle: true},
		"ring":               ring,
		"tree":               TreeAllReduce{Collective: collective, Segments: 3},
		"poisson":            Poisson{Profile: base, Sizes: Hadoop(), Load: 0.3, LinkRate: 4e10, Count: 500},
		"background":         Background{Profile: base, Count: 20},
		"mice and elephants": MiceElephants{Profile: unnamed, Count: 50, MiceShare: 0.8, MouseBytes: 9, Duration: Millisecond},
		"pairs":              Pairs{Profile: base, Pairs: []Pair{{1, 2}, {1, 2}, {5, 0}}},
		"trace":              trace,
		"among":              Among{Hosts: []int{9, 3, 1, 7}, Generator: ring},
		"mix":                Mix{ring, Background{Count: 9}, AllToAll{Bytes: 7, Concurrency: 1}},
	}
}

func TestFlowsAreAFunctionOfTheSeed(t *testing.T) {
	for name, g := range everyKind(t) {
		t.Run(name, func(t *testing.T) {
			first := mustFlows(t, g, 12, 1)
			if again := mustFlows(t, g, 12, 1); !reflect.DeepEqual(first, again) {
				t.Error("the same seed gave two lists")
			}
			if other := mustFlows(t, g, 12, 2); reflect.DeepEqual(first, other) {
				t.Error("two seeds gave the same list")
			}
		})
	}
}

func TestProfileReachesEveryFlow(t *testing.T) {
	for name, g := range everyKind(t) {
		if name == "trace" || name == "mix" {
			continue
		}
		for _, f := range mustFlows(t, g, 12, 1) {
			if f.Message != 4096 || f.Rate != 1e9 || f.Priority != 3 || f.Sync != 0.25 {
				t.Fatalf("%s: flow %+v lacks traits of its profile", name, f)
			}
			if name != "mice and elephants" && f.Class != "x" {
				t.Fatalf("%s: class %q, want that of the profile", name, f.Class)
			}
			if len(f.After) == 0 && f.Start < Millisecond {
				t.Fatalf("%s: flow %+v starts before the workload", name, f)
			}
		}
	}
}

// A golden list: it fails when a change draws differently, which would silently
// change every simulation that names a seed.
func TestDrawsStayWhatTheyAre(t *testing.T) {
	p := Poisson{Sizes: WebSearch(), Load: 0.5, LinkRate: 40e9, Count: 3}
	var got [][4]int64
	for _, f := range mustFlows(t, p, 320, 7) {
		got = append(got, [4]int64{int64(f.Src), int64(f.Dst), f.Start, f.Bytes})
	}
	want := [][4]int64{{37, 54, 576539, 35253}, {171, 196, 2275111, 52414}, {221, 115, 4290176, 8823024}}
	if !slices.Equal(got, want) {
		t.Errorf("flows %v, want %v", got, want)
	}
}

func TestCheckRefuses(t *testing.T) {
	good := func() []Flow {
		return []Flow{
			{ID: 0, Src: 0, Dst: 1, Start: 5, Bytes: 10},
			{ID: 1, Src: 1, Dst: 2, Start: 5, Bytes: 10},
			{ID: 2, Src: 2, Dst: 0, Bytes: 10, After: []int{0, 1}},
		}
	}
	if err := Check(good(), 3); err != nil {
		t.Fatalf("a good list: %v", err)
	}
	tests := []struct {
		name, field string
		hosts       int
		spoil       func(f []Flow)
	}{
		{"too few hosts", "hosts", 1, func([]Flow) {}},
		{"wrong ID", "ID", 3, func(f []Flow) { f[1].ID = 2 }},
		{"no such source", "Src", 3, func(f []Flow) { f[1].Src = -1 }},
		{"no such destination", "Dst", 3, func(f []Flow) { f[1].Dst = 3 }},
		{"to itself", "Dst", 3, func(f []Flow) { f[1].Dst = 1 }},
		{"before time", "Start", 3, func(f []Flow) { f[0].Start = -1 }},
		{"out of order", "Start", 3, func(f []Flow) { f[1].Start = 4 }},
		{"negative size", "Bytes", 3, func(f []Flow) { f[0].Bytes = -1 }},
		{"long message", "Message", 3, func(f []Flow) { f[0].Message = MaxMessage + 1 }},
		{"negative rate", "Rate", 3, func(f []Flow) { f[0].Rate = -1 }},
		{"ninth priority", "Priority", 3, func(f []Flow) { f[0].Priority = 8 }},
		{"share above 1", "Sync", 3, func(f []Flow) { f[0].Sync = 1.1 }},
		{"share that is no number", "Sync", 3, func(f []Flow) { f[0].Sync = math.NaN() }},
		{"waits for itself", "After", 3, func(f []Flow) { f[2].After = []int{2} }},
		{"waits for no flow", "After", 3, func(f []Flow) { f[2].After = []int{-1} }},
		{"waits twice", "After", 3, func(f []Flow) { f[2].After = []int{1, 1} }},
		{"waits for ever", "After", 3, func(f []Flow) { f[1].Bytes = 0 }},
		{"waiting before not waiting", "After", 3, func(f []Flow) { f[1].After, f[2].After = []int{0}, nil }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			flows := good()
			test.spoil(flows)
			wantConfigError(t, Check(flows, test.hosts), test.field)
		})
	}
}
