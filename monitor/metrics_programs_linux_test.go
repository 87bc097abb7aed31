package monitor

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// TestMetricsOfPrograms checks that what programs did in windows adds up, and that a window that comes twice counts once.
func TestMetricsOfPrograms(t *testing.T) {
	t.Parallel()
	m, p := slow(t)
	join(t, m, Host{Name: "a", Addr: "10.0.0.1", Rack: "r1"}, Host{Name: "b", Addr: "10.0.0.2", Rack: "r1"})
	began := time.Now()
	for _, second := range []int{1, 2, 2, 3} {
		w := Window{Host: "a", At: began.Add(time.Duration(second) * time.Second), Slow: []SlowEvent{{Phase: "poll"}}, Programs: []ProgramWindow{
			{ProgramID: ProgramID{1, 1}, Pairs: map[string]int{"RTS": 3, "ERR": 1}, Registered: 4096, Counters: map[string]uint64{"tx_bytes": 100, "mp_lost": 1, "unheard_of": 9}},
			{ProgramID: ProgramID{2, 1}, Pairs: map[string]int{"RTS": 1}, Registered: 4096, Counters: map[string]uint64{"tx_bytes": 10}},
		}}
		text, err := json.Marshal(&w)
		must(t, err)
		m.reported(&nats.Msg{Subject: subjectWindow + token("a"), Data: text})
	}
	if got := len(m.State().Slow); got != 3 {
		t.Errorf("%d slow events", got)
	}
	families, text := scrape(t, p)
	of := []string{"host", "a", "rack", "r1"}
	for name, want := range map[string]float64{
		"braid_port_data_transmitted_bytes_total": 330, "braid_mp_lost_packets_total": 3, "braid_programs": 2, "braid_queue_pairs": 5, "braid_queue_pairs_failed": 1,
		"braid_registered_bytes": 8192, "braid_slow_events_total": 3,
	} {
		if got, ok := value(families, name, of...); !ok || got != want {
			t.Errorf("%s is %v (there: %v), want %v", name, got, ok, want)
		}
	}
	if got, ok := value(families, "braid_programs", "host", "b", "rack", "r1"); ok {
		t.Errorf("a host that has not reported has %v programs", got)
	}
	lint(t, text)
}
