package workload

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestImpossibleConfigurations(t *testing.T) {
	web := WebSearch()
	whole := Collective{Bytes: 1000}
	tests := []struct {
		name  string
		g     Generator
		hosts int
		field string
	}{
		{"one host", Permutation{}, 1, "hosts"},
		{"no host", AllToAll{}, 0, "hosts"},
		{"negative hosts", RingAllReduce{whole}, -4, "hosts"},
		{"endless hosts", AllToAll{}, math.MaxInt, "hosts"},
		{"before time", Incast{Profile: Profile{Start: -1}}, 4, "Start"},
		{"jitter beyond time", Incast{Profile: Profile{Jitter: MaxTime + 1}}, 4, "Jitter"},
		{"long message", Background{Profile: Profile{Message: MaxMessage + 1}, Count: 1}, 4, "Message"},
		{"negative rate", Background{Profile: Profile{Rate: -1}, Count: 1}, 4, "Rate"},
		{"ninth priority", Permutation{Profile: Profile{Priority: 8}}, 4, "Priority"},
		{"share in percent", Permutation{Profile: Profile{Sync: 50}}, 4, "Sync"},

		{"unknown senders", Permutation{Senders: 3}, 4, "Senders"},
		{"negative size", Permutation{Bytes: -1}, 4, "Bytes"},
		{"half of an odd number", Permutation{Senders: RandomHalf}, 5, "hosts"},
		{"groups of more than half", Permutation{HostsPerGroup: 3}, 5, "HostsPerGroup"},
		{"one group", Permutation{HostsPerGroup: 4}, 4, "HostsPerGroup"},
		{"negative groups", Permutation{HostsPerGroup: -1}, 4, "HostsPerGroup"},

		{"no such receiver", Incast{Receiver: 4}, 4, "Receiver"},
		{"more senders than others", Incast{Degree: 4}, 4, "Degree"},
		{"negative incast", Incast{Bytes: -1}, 4, "Bytes"},

		{"negative concurrency", AllToAll{Bytes: 1, Concurrency: -1}, 4, "Concurrency"},
		{"wait for the endless", AllToAll{Concurrency: 1}, 4, "Bytes"},
		{"too many pairs", AllToAll{}, 4096, "number of flows"},

		{"nothing to reduce", RingAllReduce{}, 4, "Bytes"},
		{"less than a byte each", RingAllReduce{Collective{Bytes: 3}}, 4, "Bytes"},
		{"negative rounds", RingAllReduce{Collective{Bytes: 9, Rounds: -1}}, 4, "Rounds"},
		{"too many rounds", RingAllReduce{Collective{Bytes: 9, Rounds: MaxFlows}}, 4, "number of flows"},
		{"too large a ring", RingAllReduce{Collective{Bytes: 1e9}}, 1 << 20, "number of flows"},
		{"negative computation", RingAllReduce{Collective{Bytes: 9, Compute: -1}}, 4, "Compute"},
		{"negative addition", RingAllReduce{Collective{Bytes: 9, Reduce: -1}}, 4, "Reduce"},
		{"negative fanout", TreeAllReduce{Collective: whole, Fanout: -1}, 4, "Fanout"},
		{"wide tree", TreeAllReduce{Collective: whole, Fanout: MaxFanout + 1}, 4, "Fanout"},
		{"negative segments", TreeAllReduce{Collective: whole, Segments: -1}, 4, "Segments"},
		{"more segments than bytes", TreeAllReduce{Collective: whole, Segments: 1001}, 4, "Bytes"},

		{"no sizes", Poisson{Load: 0.5, LinkRate: 1e9, Count: 1}, 4, "Sizes"},
		{"empty sizes", Poisson{Sizes: &Distribution{}, Load: 0.5, LinkRate: 1e9, Count: 1}, 4, "Sizes"},
		{"no load", Poisson{Sizes: web, LinkRate: 1e9, Count: 1}, 4, "Load"},
		{"load in percent", Poisson{Sizes: web, Load: 50, LinkRate: 1e9, Count: 1}, 4, "Load"},
		{"load that is no number", Poisson{Sizes: web, Load: math.NaN(), LinkRate: 1e9, Count: 1}, 4, "Load"},
		{"load too small", Poisson{Sizes: web, Load: 1e-300, LinkRate: 1e9, Count: 1}, 4, "Load"},
		{"no link", Poisson{Sizes: web, Load: 0.5, Count: 1}, 4, "LinkRate"},
		{"no end", Poisson{Sizes: web, Load: 0.5, LinkRate: 1e9}, 4, "Duration"},
		{"negative count", Poisson{Sizes: web, Load: 0.5, LinkRate: 1e9, Count: -1}, 4, "Count"},
		{"too many arrivals", Poisson{Sizes: web, Load: 1, LinkRate: 1e12, Duration: MaxTime}, 4, "Duration"},
		{"one group of arrivals", Poisson{Sizes: web, Load: 0.5, LinkRate: 1e9, Count: 1, HostsPerGroup: 9}, 4, "HostsPerGroup"},

		{"no streams", Background{}, 4, "Count"},
		{"one group of streams", Background{Count: 1, HostsPerGroup: 4}, 4, "HostsPerGroup"},

		{"no animals", MiceElephants{MouseBytes: 1}, 4, "Count"},
		{"named animals", MiceElephants{Profile: Profile{Class: "x"}, Count: 1, MouseBytes: 1}, 4, "Class"},
		{"mice in percent", MiceElephants{Count: 1, MiceShare: 90, MouseBytes: 1}, 4, "MiceShare"},
		{"endless mice", MiceElephants{Count: 1}, 4, "MouseBytes"},
		{"small elephants", MiceElephants{Count: 1, MouseBytes: 9, ElephantBytes: 9}, 4, "ElephantBytes"},
		{"negative duration", MiceElephants{Count: 1, MouseBytes: 9, Duration: -1}, 4, "Duration"},

		{"no pairs", Pairs{}, 4, "Pairs"},
		{"a pair of one", Pairs{Pairs: []Pair{{0, 1}, {2, 2}}}, 4, "Pairs[1].Dst"},
		{"a pair with nobody", Pairs{Pairs: []Pair{{4, 1}}}, 4, "Pairs[0].Src"},

		{"no parts", Mix{}, 4, "parts"},
		{"a missing part", Mix{Permutation{}, nil}, 4, "part 2"},
		{"a wrong part", Mix{Permutation{}, Incast{Degree: 9}}, 4, "Degree"},
		{"too many together", Mix{Permutation{}, blank(MaxFlows)}, 4, "number of flows"},
		{"among nobody", Among{Generator: Permutation{}}, 4, "hosts"},
		{"among strangers", Among{Hosts: []int{0, 4}, Generator: Permutation{}}, 4, "Hosts[1]"},
		{"among the same", Among{Hosts: []int{2, 2}, Generator: Permutation{}}, 4, "Hosts[1]"},
		{"nothing among", Among{Hosts: []int{0, 1}}, 4, "Generator"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			flows, err := test.g.Flows(test.hosts, seeded(1))
			wantConfigError(t, err, test.field)
			if flows != nil {
				t.Errorf("%d flows beside an error", len(flows))
			}
		})
	}
}

// blank makes a list of that length, whose memory is never touched.
type blank int

func (n blank) Flows(int, *rand.Rand) ([]Flow, error) { return make([]Flow, n), nil }

func TestErrorsRead(t *testing.T) {
	_, err := Mix{Permutation{}, Incast{Degree: 9}}.Flows(4, seeded(1))
	if want := "mix, part 2: workload: incast: Degree is 9, expected 0 to 3"; err == nil || err.Error() != want {
		t.Errorf("error %q, want %q", err, want)
	}
	_, err = ParseTrace(strings.NewReader("src,dst,start_us,bytes\n0,1,soon,5\n"))
	want := `workload: trace line 2, field start_us: got "soon", expected microseconds such as 12.5, up to 1000000000000`
	if err == nil || err.Error() != want || !errors.Is(err, ErrTrace) {
		t.Errorf("error %q, want %q", err, want)
	}
}
