package monitor

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// scrape reads the metrics as Prometheus does.
func scrape(t *testing.T, p *Page) (families map[string]*dto.MetricFamily, text string) {
	t.Helper()
	r, text := fetch(t, "GET", p.URL()+"metrics", "", nil)
	if r.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", r.Status, text)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	must(t, err)
	return families, text
}

// value is that of the series with some labels, which are pairs of a name and a value.
func value(families map[string]*dto.MetricFamily, name string, labels ...string) (float64, bool) {
	for _, m := range families[name].GetMetric() {
		has := map[string]string{}
		for _, l := range m.GetLabel() {
			has[l.GetName()] = l.GetValue()
		}
		same := len(has) == len(labels)/2
		for i := 0; i+1 < len(labels); i += 2 {
			same = same && has[labels[i]] == labels[i+1]
		}
		if same {
			return m.GetGauge().GetValue() + m.GetCounter().GetValue(), true
		}
	}
	return 0, false
}

// report gives the monitor a window of a host that ends now.
func report(t *testing.T, m *Monitor, host string, pairs ...Pair) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.windows[host] = Window{Host: host, At: time.Now(), Pairs: pairs}
}

func join(t *testing.T, m *Monitor, hosts ...Host) {
	t.Helper()
	for _, h := range hosts {
		must(t, m.introduced(&hello{Version: version, Host: h, Now: time.Now()}))
	}
}

// slowIn is a monitor that judges when the test says so.
func slowIn(t *testing.T, dir string) *Monitor {
	t.Helper()
	m, err := Start(Config{Listen: "127.0.0.1:0", Dir: dir, Window: time.Hour, Log: testLog(t)})
	must(t, err)
	t.Cleanup(m.Close)
	return m
}

// slow has a page too.
func slow(t *testing.T) (*Monitor, *Page) {
	t.Helper()
	m := slowIn(t, t.TempDir())
	p, err := m.ServePage(PageConfig{Listen: "127.0.0.1:0"})
	must(t, err)
	t.Cleanup(p.Close)
	return m, p
}

// TestMetrics checks what a scrape tells of two racks, and that names and units are as Prometheus has them.
func TestMetrics(t *testing.T) {
	t.Parallel()
	m, p := slow(t)
	join(t, m, Host{Name: "a", Addr: "10.0.0.1", Rack: "r1"}, Host{Name: "b", Addr: "10.0.0.2", Rack: "r2"}, Host{Name: "c", Addr: "10.0.0.3"})
	report(t, m, "a", Pair{To: "b", Sent: 10, Lost: 1, Network: 20 * time.Microsecond, Responder: 3 * time.Microsecond, Prober: 4 * time.Microsecond},
		Pair{To: "b", Path: 1, Sent: 10, Network: 30 * time.Microsecond}, Pair{To: "nobody", Sent: 100})
	report(t, m, "b", Pair{To: "a", Sent: 5, Lost: 5})
	m.judgeWindow(time.Now())
	families, text := scrape(t, p)
	for _, want := range []struct {
		name   string
		value  float64
		labels []string
	}{
		{"braid_hosts", 3, nil},
		{"braid_host_reporting", 1, []string{"host", "a", "rack", "r1"}},
		{"braid_host_reporting", 0, []string{"host", "c", "rack", "c"}},
		{"braid_mesh_probes_total", 25, nil},
		{"braid_mesh_probes_lost_total", 6, nil},
		{"braid_mesh_host_probes", 20, []string{"host", "a", "rack", "r1"}},
		{"braid_mesh_host_probed", 20, []string{"host", "b", "rack", "r2"}},
		{"braid_mesh_host_network_p99_seconds", 30e-6, []string{"host", "a", "rack", "r1"}},
		{"braid_mesh_host_responder_p99_seconds", 3e-6, []string{"host", "b", "rack", "r2"}},
		{"braid_mesh_host_prober_p99_seconds", 4e-6, []string{"host", "a", "rack", "r1"}},
		{"braid_mesh_rack_probes_lost", 5, []string{"from", "r2", "to", "r1"}},
		{"braid_mesh_rack_network_p99_seconds", 30e-6, []string{"from", "r1", "to", "r2"}},
		{"braid_alarms", 0, []string{"blame", "host"}},
		{"braid_events_total", 3, nil},
		{"braid_window_seconds", 3600, nil},
		{"braid_nats_connections", 1, nil},
		{"braid_store_up", 1, nil},
	} {
		if got, ok := value(families, want.name, want.labels...); !ok || got != want.value {
			t.Errorf("%s%q is %v (there: %v), want %v", want.name, want.labels, got, ok, want.value)
		}
	}
	// Probes of which none had a reply have no time, which is not a time of zero.
	if got, ok := value(families, "braid_mesh_rack_network_p99_seconds", "from", "r2", "to", "r1"); ok {
		t.Errorf("lost probes took %v s", got)
	}
	for _, name := range []string{"go_goroutines", "process_resident_memory_bytes"} {
		if families[name] == nil {
			t.Errorf("there is no %s", name)
		}
	}
	lint(t, text)
	if r, _ := fetch(t, "GET", p.URL()+"metrics", "evil.example", nil); r.StatusCode != http.StatusForbidden {
		t.Errorf("metrics for a page elsewhere: %s", r.Status)
	}
}

// lint checks the monitor's own metrics against Prometheus' conventions.
func lint(t *testing.T, text string) {
	t.Helper()
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	must(t, err)
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "braid_") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
}

// TestMetricsOfHostileNames checks that names with all that has a meaning in the format are only names.
func TestMetricsOfHostileNames(t *testing.T) {
	t.Parallel()
	m, p := slow(t)
	names := []string{`a"} 1`, `back\slash`, `{x="y"}`, "# HELP braid_hosts", "ünï\u2028cøde", "x{le=\"+Inf\"}", strings.Repeat("ÿ", maxName/2), " ", ",", "a,b=c"}
	for i, name := range names {
		join(t, m, Host{Name: name, Addr: "10.0.0.1", Rack: names[len(names)-1-i]})
		report(t, m, name, Pair{To: names[0], Sent: 2, Lost: 1, Network: time.Microsecond})
	}
	m.judgeWindow(time.Now())
	families, text := scrape(t, p)
	lint(t, text)
	for i, name := range names {
		if got, ok := value(families, "braid_mesh_host_probes", "host", name, "rack", names[len(names)-1-i]); !ok || got != 2 {
			t.Errorf("%q: %v, %v", name, got, ok)
		}
	}
	if n := len(families["braid_hosts"].GetMetric()); n != 1 {
		t.Errorf("%d series of braid_hosts", n)
	}
	for _, bad := range []string{"a\nbraid_hosts 7", "\xff\xfe", "a\x00", strings.Repeat("x", maxName+1)} {
		h := Host{Name: bad, Addr: "10.0.0.1"}
		if h.check() == nil {
			t.Errorf("%q may be a name", bad)
		}
	}
}

// TestMetricsAreBounded checks that hosts, racks and reports without end do not make a scrape without end.
func TestMetricsAreBounded(t *testing.T) {
	t.Parallel()
	m, p := slow(t)
	most := maxMetricHosts + 100 // of which those are judged that report
	all := make([]Host, most)
	for i := range all {
		all[i] = Host{Name: fmt.Sprintf("h%05d", i), Addr: "10.0.0.1", Rack: fmt.Sprint("rack", i)} // each in a rack of its own
	}
	join(t, m, all...)
	for i := range 150 {
		var pairs []Pair
		reach := 160 // all who report and some who do not; now and then every host
		if i%50 == 0 {
			reach = most
		}
		for to := range reach {
			pairs = append(pairs, Pair{To: all[to].Name, Sent: 1 + i}, Pair{To: fmt.Sprint("invented", to), Sent: 1})
		}
		report(t, m, all[i].Name, pairs[:min(len(pairs), maxPairs)]...)
	}
	m.judgeWindow(time.Now())
	families, text := scrape(t, p)
	series := 0
	for name, f := range families {
		if strings.HasPrefix(name, "braid_") {
			series += len(f.GetMetric())
		}
	}
	if series > 100_000 || series < maxMetricRackPairs || strings.Contains(text, "invented") {
		t.Errorf("%d series", series)
	}
	if got, _ := value(families, "braid_hosts_without_series"); got != 100 {
		t.Errorf("%v hosts are left out", got)
	}
	if got, _ := value(families, "braid_mesh_rack_pairs_without_series"); got != 150*150-maxMetricRackPairs {
		t.Errorf("%v pairs of racks are left out", got)
	}
	if got := len(families["braid_mesh_rack_probes"].GetMetric()); got != maxMetricRackPairs {
		t.Errorf("%d pairs of racks", got)
	}
}
